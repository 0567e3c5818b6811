// SPDX-License-Identifier: Apache-2.0
// A file in memory for as long as the object lives, shared with all others who have mapped it, and
// a way to have its pages made before anybody needs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.h"

namespace nvs::os {

class SharedMapping {
 public:
  // The offset is a multiple of the page size. Errors: EINVAL, ENOMEM, ENODEV, EACCES.
  static Result<SharedMapping> create(int fd, std::uint64_t offset, std::size_t bytes);

  SharedMapping(SharedMapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  SharedMapping& operator=(SharedMapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // For hosts that give huge pages to those who ask; others pay no heed.
  void advise_huge_pages() const;

  // Makes all of its pages; what is in them stays. They are charged to the caller. Error ENOMEM:
  // the system has no memory left; some pages may have been made.
  Result<void> touch() const;
  // The same on kernels before 5.14, which cannot do it in one call and end the process if there is
  // no memory.
  void touch_by_writing() const;

 private:
  SharedMapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace nvs::os
