// SPDX-License-Identifier: Apache-2.0
// Which blocks of managed memory are on which GPU: the books that let it exceed a card. A block is
// on the host until work on a GPU wants it; then it takes a frame there, and where there is no room
// the block that was used longest ago goes home, whichever process it belongs to. Frames are in the
// machine's segment; a process remembers where it saw its blocks last and asks the frame whether
// that is still so.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <utility>

#include "cuda_sim/machine/segment.h"

namespace nvs::sim {

/// A block of this process, where it was seen last.
struct BlockPlace {
  std::uint64_t name = 0;  // unique on the machine
  bool on_gpu = false;
  std::uint32_t gpu = 0;
  std::uint32_t frame = 0;
};

struct BlockTouch {
  BlockPlace* place = nullptr;
  bool duplicate = false;  // the host keeps a copy as good: it need not be carried home
};

/// What moved, in blocks.
struct Migration {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t left_out = 0;  // found no room on the GPU, which holds other memory
};

class Machine;

/// One reckoning with the frames of a GPU, under the ledger's lock.
class Residency {
 public:
  Residency(Machine& machine, unsigned gpu);

  /// The blocks are used, in this order, and must be on the GPU for it.
  void touch(std::span<const BlockTouch> touches);
  /// Evicts until so many bytes are free, or nothing is left to evict. True: they are.
  bool make_room(std::uint64_t bytes);
  const Migration& moved() const { return moved_; }

  /// The frame of a block that is still where it was seen, or null.
  static ManagedFrame* find(Machine& machine, const BlockPlace& place);
  static void vacate(Machine& machine, unsigned gpu, ManagedFrame& frame);

 private:
  bool evict_one();
  void list_frames();
  std::uint32_t free_frame();
  void occupy(std::uint32_t index, const BlockTouch& touch);
  void use(std::uint32_t index);

  Machine& machine_;
  const unsigned gpu_;
  Migration moved_;
  std::uint64_t used_;  // bytes of the GPU, by all and for anything
  bool listed_ = false;
  bool reclaimed_ = false;
  std::uint32_t cursor_ = 0;  // no frame before it is free
  // Frames by the time of their last use, the oldest first; one that was used since is further on.
  std::deque<std::pair<std::uint64_t, std::uint32_t>> oldest_;
};

}  // namespace nvs::sim
