// SPDX-License-Identifier: Apache-2.0
// The host memory behind one process's share of a simulated GPU: a sparse memfd, so that it
// vanishes with the process and other processes can open a part of it. Extents are poisoned when
// they are first touched, because fresh device memory promises nothing and because a program may
// allocate far more than it uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "base/unique_fd.h"

namespace nvs::sim {

/// What fresh device memory holds, in every 4 bytes: a float that is not a number, told from any
/// result.
inline constexpr std::uint32_t kPoison = 0x7fb0150dU;

class Arena {
 public:
  /// Room for extents that add up to `capacity` bytes, however they are fragmented.
  explicit Arena(std::uint64_t capacity);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  bool ok() const { return base_ != nullptr; }
  int fd() const { return file_.get(); }
  std::byte* at(std::uint64_t offset) const { return base_ + offset; }

  std::optional<std::uint64_t> take(std::uint64_t bytes);
  void give_back(std::uint64_t offset, std::uint64_t bytes);

  /// The range is handed out anew: what it held is gone, and it is fresh again.
  void forget(std::uint64_t offset, std::uint64_t bytes);

  /// Must precede every access to the range.
  void poison_if_fresh(std::uint64_t offset, std::uint64_t bytes);

 private:
  static constexpr std::uint64_t kBlock = 4096;

  UniqueFd file_;
  std::uint64_t size_ = 0;
  std::byte* base_ = nullptr;
  unsigned char* touched_ = nullptr;  // a byte per block; written under poison_mutex_
  std::mutex poison_mutex_;
  std::mutex extents_mutex_;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset to size; under extents_mutex_
  std::uint64_t kept_bytes_ = 0;                 // freed, with their pages; under extents_mutex_
};

/// Fills memory with kPoison; `bytes` is a multiple of 4.
void poison(std::byte* memory, std::uint64_t bytes);

}  // namespace nvs::sim
