// SPDX-License-Identifier: Apache-2.0
// Copies between a chunk and its place in host memory, and hashes of chunks, in the context that
// the chunk belongs to. Each context has streams of ours and rings of events; they go with it.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"
#include "interposer/memory/vmm/chunk.h"

namespace nvs::interposer::swap {

// Chunks under way at a time: so many are copied out, or brought in, that the bus never waits for
// us. Of those that leave, all are hashed at once, as far as there are slots: hashes are kernels
// beside somebody else's window, and each one by itself costs that one two turns of the GPU from
// process to process.
inline constexpr int kLeaving = 4;
inline constexpr int kComing = 12;
inline constexpr int kSlots = 256;

enum class Direction : std::uint8_t { out, in };

// A context that does not end before it is given back.
class Lane {
 public:
  // False if the context is about to end, or has no room for streams.
  bool take(CUcontext context, int gpu);
  // For memory of this context. One that nobody told us of is a green one, whose work is waited for
  // with that of the primary context: that one takes its place.
  bool take_for(CUcontext context, int gpu);
  // Any context of the GPU will do; the primary one, if there is one.
  bool take_any(int gpu);
  void give_back();

  // Both are done when wait(slot) says so. A slot is below kSlots, and its last use is over.
  bool copy(Direction direction, int slot, std::uint64_t device, std::uint64_t host,
            std::uint64_t bytes) const;
  bool set_to_zero(int slot, std::uint64_t device, std::uint64_t bytes) const;
  bool is_done(int slot) const;
  // False: the context is broken or the driver is gone, and nobody knows what was copied. Nothing
  // of it is under way any more.
  bool wait(int slot) const;

  bool is_same(const Lane& other) const { return streams_ == other.streams_; }

  // A card that was full when the streams were made may have had no room for the kernel. For the
  // GPU's mover alone, where the context cannot.
  bool can_hash() const;
  void learn_to_hash() const;

  // What is in chunks, for slots in a row: all of them in one go, so that the GPU does not turn to
  // others in between. False if this context cannot tell.
  struct Stretch {
    std::uint64_t device;
    std::uint64_t bytes;
  };
  bool begin_hashes(int first_slot, const Stretch* chunks, int count) const;
  // Waits for those that were begun together with the first slot's. False: it is not known.
  struct Content {
    vmm::Hash hash;
    bool is_zero;
  };
  bool end_hash(int first_slot, int slot, Content& content) const;

 private:
  int index_ = -1;  // in the table of contexts
  int streams_ = -1;
  int gpu_ = 0;
};

// Makes the streams of all contexts of a GPU ahead of their first use, when there is memory for it.
void prepare_lanes(int gpu);
// The context ends: what it had here goes with it.
void forget_lane(CUcontext context);

void forget_lanes_in_child();

}  // namespace nvs::interposer::swap
