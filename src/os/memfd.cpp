// SPDX-License-Identifier: Apache-2.0
#include "os/memfd.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // since Linux 6.3, which warns of memfds that do not say
#endif

namespace nvs::os {
namespace {

constexpr const char* kShmemEnabled = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

UniqueFd create(const char* name) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd{::memfd_create(name, kFlags | MFD_NOEXEC_SEAL)};
  if (!fd && errno == EINVAL) fd = UniqueFd{::memfd_create(name, kFlags)};
  return fd;
}

Result<void> allocate(int memfd, int mode, std::uint64_t offset, std::uint64_t bytes) {
  int failed = 0;
  do {
    failed = ::fallocate(memfd, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return tl::unexpected(Error::from_errno(errno, "fallocate"));
  return {};
}

}  // namespace

Result<UniqueFd> make_memfd(const char* name, std::uint64_t bytes) {
  UniqueFd fd = create(name);
  if (!fd) return tl::unexpected(Error::from_errno(errno, "memfd_create"));
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return tl::unexpected(Error::from_errno(errno, "ftruncate"));
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return tl::unexpected(Error::from_errno(errno, "seal a memfd"));
  }
  return fd;
}

Result<void> make_pages(int memfd, std::uint64_t offset, std::uint64_t bytes) {
  return allocate(memfd, FALLOC_FL_KEEP_SIZE, offset, bytes);
}

Result<void> discard(int memfd, std::uint64_t offset, std::uint64_t bytes) {
  return allocate(memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
}

MemfdHugePages memfd_huge_pages() {
  const UniqueFd fd{::open(kShmemEnabled, O_RDONLY | O_CLOEXEC)};
  if (!fd) return {};
  char text[128];
  const ssize_t size = ::read(fd.get(), text, sizeof text);
  if (size <= 0) return {};
  return parse_shmem_enabled({text, static_cast<std::size_t>(size)});
}

MemfdHugePages parse_shmem_enabled(std::string_view text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return {};
  const std::string_view chosen = text.substr(begin + 1, end - begin - 1);
  const bool on_advice = chosen == "advise";
  return {on_advice || chosen == "always" || chosen == "within_size" || chosen == "force",
          on_advice};
}

}  // namespace nvs::os
