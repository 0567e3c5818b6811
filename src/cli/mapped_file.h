// SPDX-License-Identifier: Apache-2.0
// The bytes of a file without reading all of it: programs are large, and what the loader looks at
// is a few pages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace nvs::cli {

class MappedFile {
 public:
  // Regular files only: opening a pipe would wait for its other end.
  static Result<MappedFile> open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace nvs::cli
