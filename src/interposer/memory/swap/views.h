// SPDX-License-Identifier: Apache-2.0
// Memory that programs create themselves, and their views of it (ADR 17): the table, and what
// happens to views when pages come and go. Its lock is the last one that anybody takes, and held
// while the driver maps: pages must not go while a view of them is made.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/vmm/view_table.h"
#include "os/futex_lock.h"

namespace nvs::interposer::swap {

extern os::FutexLock view_lock;
extern vmm::ViewTable view_table;

// Whether there is any; without the lock.
bool has_created();
// With the lock held: after each change of how many there are.
void count_created();

// With the lock held. Pages at one place of a view, for whoever may use it. On failure nothing is
// left of it.
CUresult show_pages(const vmm::View& view, std::uint64_t offset, std::uint64_t bytes,
                    std::uint64_t handle);
// The same for all chunks that are there, or the one handle.
CUresult show_all(const vmm::View& view);

// Without the lock, for the addresses of a chunk. The properties that its pages must have, if the
// program said so.
void adopt_prop(std::uint64_t home, CUmemAllocationProp& prop);
// It has pages now, which are mapped at home; and before it has none any more. On failure nothing
// is left of the first.
CUresult pages_came(std::uint64_t home, std::uint64_t bytes, std::uint64_t handle);
void pages_go(std::uint64_t home, std::uint64_t bytes);

void forget_views_in_child();

}  // namespace nvs::interposer::swap
