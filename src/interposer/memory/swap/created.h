// SPDX-License-Identifier: Apache-2.0
// cuMemCreate and its kin for memory that can be moved: the program has a token for a handle.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/vmm/view_table.h"

namespace nvs::interposer::swap {

constexpr bool is_token(std::uint64_t handle) { return vmm::ViewTable::is_token(handle); }

// Memory of these properties, if that is for us. May wait until there is room.
Got create(std::uint64_t bytes, const CUmemAllocationProp& prop, std::uint64_t& token);

// All of these as the driver does for handles of its own. With no lock held.
CUresult release(std::uint64_t token);
CUresult prop_of(std::uint64_t token, CUmemAllocationProp* prop);
// False: there is no view of ours.
bool retain_at(std::uint64_t address, std::uint64_t& token);

// Part of allocating: the token, with one reference, for what has these addresses; 0 if there is no
// memory to write it down.
std::uint64_t add_created(std::uint64_t home, const vmm::Split& split,
                          const CUmemAllocationProp& prop);
void drop_created(std::uint64_t token);

// With the lock of views held: forgets it if nobody refers to it any more, and puts it in front of
// the others of the row.
void take_if_over(vmm::Created* created, vmm::Created*& over);
// Takes a row of them apart. With no lock held.
void end_all(vmm::Created* over);

}  // namespace nvs::interposer::swap
