// SPDX-License-Identifier: Apache-2.0
// Managed memory: host memory that work on a GPU may use as well, and that is carried there for it,
// block by block. What the program stores is always at its address, for the host and for every GPU;
// where a block "is" decides only what its use costs and how full a GPU is.
//
// All functions are called with the driver's lock held.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda_sim/machine/machine.h"
#include "cuda_sim/memory/address_space.h"

namespace nvs::sim {

class Driver;
struct Context;

/// Where a block is wanted: a GPU of the machine, the host, or no place in particular.
inline constexpr int kOnHost = -1;
inline constexpr int kAnywhere = -2;

struct ManagedBlock {
  BlockPlace place;
  int preferred = kAnywhere;
  int last_prefetch = kAnywhere;
  bool read_mostly = false;
  bool host_maps_it = false;               // CU_MEM_ADVISE_SET_ACCESSED_BY the CPU
  std::bitset<kGpusMax> gpus_that_map_it;  // the same for GPUs
};

struct ManagedRange {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t context = 0;
  std::vector<ManagedBlock> blocks;
};

/// The address, or 0 when the host has no room.
std::uint64_t allocate_managed(Driver& driver, const Context& context, std::uint64_t bytes);

/// The caller has made sure that nothing uses it.
void free_managed(Driver& driver, std::uint64_t begin);

/// The managed memory of a context goes with it; a worker that is late may still touch the pages.
void abandon_managed(Driver& driver, const Context& context);

/// The allocation that holds all of the range, or null.
ManagedRange* managed_range(Driver& driver, std::uint64_t begin, std::uint64_t size);

/// Those blocks of an allocation that have bytes in the range.
std::span<ManagedBlock> blocks_in(const Driver& driver, ManagedRange& range, std::uint64_t begin,
                                  std::uint64_t size);

bool touches_managed(Driver& driver, std::uint64_t begin, std::uint64_t size);

/// Work on the GPU uses a range, whatever it is: what is managed of it comes there, unless advice
/// keeps it where it is. The time the work has to wait for that.
Nanos use_managed(Driver& driver, unsigned gpu, std::uint64_t begin, std::uint64_t size,
                  Access access);

/// A prefetch: how many bytes moved, and how long that takes if nothing else is in the way.
struct Prefetch {
  std::uint64_t bytes = 0;
  double model_ns = 0;
};

/// To a GPU of the machine, or to kOnHost.
Prefetch prefetch_managed(Driver& driver, std::uint64_t begin, std::uint64_t size, int target);

}  // namespace nvs::sim
