// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/memory/host_pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace nvs::sim {
namespace {

// Linux 5.14's MADV_POPULATE_READ and MADV_POPULATE_WRITE, which older headers lack.
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;

std::uint64_t page_size() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

bool populate(std::uint64_t begin, std::uint64_t end, int advice) {
  const std::uint64_t first = begin / page_size() * page_size();
  return ::madvise(reinterpret_cast<void*>(first), end - first, advice) == 0;
}

// An older kernel refuses the question itself; then the program is trusted.
bool kernel_can_tell() {
  static const bool can = [] {
    const char probe = 0;
    const auto address = reinterpret_cast<std::uint64_t>(&probe);
    return populate(address, address + 1, kPopulateRead);
  }();
  return can;
}

}  // namespace

bool host_memory_allows(std::uint64_t begin, std::uint64_t bytes, HostUse use) {
  if (bytes == 0) return true;
  const std::uint64_t end = begin + bytes;
  if (begin == 0 || end < begin) return false;
  if (!kernel_can_tell()) return true;
  return populate(begin, end, use == HostUse::read ? kPopulateRead : kPopulateWrite);
}

}  // namespace nvs::sim
