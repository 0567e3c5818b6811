// SPDX-License-Identifier: Apache-2.0
// Device memory that can be moved: what the hooks of allocation hand out where a daemon shares the
// GPU. Everything else the driver hands out itself.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_memory.h"
#include "interposer/memory/vmm/region_table.h"
#include "interposer/memory/vmm/spans.h"

namespace nvs::interposer::swap {

enum class Got : std::uint8_t {
  memory,
  nothing,  // there is not so much, and will not be
  native,   // let the driver do it
};

// Whether the driver can do with the device's memory what it takes.
bool is_movable(int device);
// Whether what the calling thread allocates now is for us.
bool is_for_us();
// For the current context of the calling thread. May wait until there is room.
Got allocate(std::uint64_t bytes, vmm::RegionKind kind, std::uint64_t& address);

// The same for a context that need not be the current one.
Got allocate_in(const vmm::SpanOwner& owner, std::uint64_t bytes, vmm::RegionKind kind,
                std::uint64_t& address);

// Memory that the program creates itself, of a device and no context: a token for it (created.h).
Got allocate_created(std::uint64_t bytes, const CUmemAllocationProp& prop, std::uint64_t& token);

// An allocation of ours that begins there, as programs see it.
struct Allocated {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;  // as asked for
  std::uint64_t context = 0;
  int device = 0;
  std::uint64_t pool = 0;  // a program's, if it is of one
};
// The one with this address in it; false if it is none of ours.
bool find(std::uint64_t address, Allocated& found);

// Frees what begins there; the caller has waited until nothing uses it. False if nothing does.
bool free(std::uint64_t address);

// All of these with the lock held. The allocation at this address of a region; false if there is
// none.
bool describe(const vmm::Region& region, std::uint64_t address, Allocated& found);
// What the allocation that begins there has, which may be more than was asked for.
std::uint64_t bytes_at(std::uint64_t base);
// Ends it, whoever has it.
bool end_allocation(std::uint64_t address);

// The context is gone, and what was allocated in it.
void context_ended(std::uint64_t context);

}  // namespace nvs::interposer::swap
