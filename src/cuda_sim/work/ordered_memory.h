// SPDX-License-Identifier: Apache-2.0
// Memory that comes and goes in the order of a stream. An allocation has addresses of its own from
// the call on, never those of one before it, so that a use after the free is found; the memory
// behind them is the pool's, fresh when the stream gets to the allocation, and the addresses are
// gone when it gets to the free. Everything here is called with the driver's lock held.
#pragma once

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

struct OrderedMemory {
  std::uint64_t address = 0;  // 0: neither the pool nor the GPU has room
  bool grew = false;          // the pool took memory from the GPU for it
};

OrderedMemory allocate_ordered(Driver& driver, const std::shared_ptr<MemoryPool>& pool,
                               std::uint64_t bytes, Stream& stream);

/// Frees stream-ordered or plain memory when the stream gets there.
void free_ordered(Driver& driver, Mapping& mapping, Stream& stream);

/// Frees stream-ordered memory at once: the caller's word is that nothing uses it any more.
CUresult free_ordered(Driver& driver, std::uint64_t address);

}  // namespace nvs::sim
