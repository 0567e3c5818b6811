// SPDX-License-Identifier: Apache-2.0
// A range of addresses as a kernel or a copy engine sees it: the pieces of host memory behind it,
// kept alive while the work is under way, poisoned where nobody has written yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cuda_sim/memory/physical.h"

namespace nvs::sim {

class View {
 public:
  /// Appends memory behind what the view already holds. A null owner means memory of the program's
  /// own.
  void append(std::shared_ptr<const Physical> owner, std::uint64_t offset, std::byte* host,
              std::uint64_t bytes) {
    pieces_.push_back({size_, bytes, host, offset, std::move(owner)});
    size_ += bytes;
  }

  std::uint64_t size() const { return size_; }

  /// Calls f(host, bytes) for each contiguous piece of [offset, offset + bytes).
  template <class F>
  void for_each(std::uint64_t offset, std::uint64_t bytes, F&& f) const {
    while (bytes > 0) {
      const Piece& piece = piece_at(offset);
      const std::uint64_t inside = offset - piece.begin;
      const std::uint64_t run = std::min(bytes, piece.bytes - inside);
      if (piece.owner) piece.owner->poison_if_fresh(piece.offset + inside, run);
      f(piece.host + inside, run);
      offset += run;
      bytes -= run;
    }
  }

 private:
  struct Piece {
    std::uint64_t begin;  // in the view
    std::uint64_t bytes;
    std::byte* host;
    std::uint64_t offset;  // in the owner
    std::shared_ptr<const Physical> owner;
  };

  const Piece& piece_at(std::uint64_t offset) const {
    const auto after = std::upper_bound(
        pieces_.begin(), pieces_.end(), offset,
        [](std::uint64_t value, const Piece& piece) { return value < piece.begin; });
    return *std::prev(after);
  }

  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace nvs::sim
