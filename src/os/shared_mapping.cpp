// SPDX-License-Identifier: Apache-2.0
#include "os/shared_mapping.h"

#include <cerrno>

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // since Linux 5.14
#endif

namespace nvs::os {

Result<SharedMapping> SharedMapping::create(int fd, std::uint64_t offset, std::size_t bytes) {
  void* data =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (data == MAP_FAILED) return tl::unexpected(Error::from_errno(errno, "mmap"));
  return SharedMapping{static_cast<std::byte*>(data), bytes};
}

SharedMapping::~SharedMapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void SharedMapping::advise_huge_pages() const {
  [[maybe_unused]] const int refused = ::madvise(data_, bytes_, MADV_HUGEPAGE);
}

Result<void> SharedMapping::touch() const {
  int failed = 0;
  do {
    failed = ::madvise(data_, bytes_, MADV_POPULATE_WRITE);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return {};
  if (errno != EINVAL) return tl::unexpected(Error::from_errno(errno, "touch memory"));
  touch_by_writing();
  return {};
}

void SharedMapping::touch_by_writing() const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  // A write that changes nothing, even if somebody else writes there at the same time.
  for (std::size_t at = 0; at < bytes_; at += page) {
    __atomic_fetch_or(reinterpret_cast<unsigned char*>(data_) + at, 0, __ATOMIC_RELAXED);
  }
}

}  // namespace nvs::os
