// SPDX-License-Identifier: Apache-2.0
// Created memory for which the driver's own handle is wanted, to be shared or bound: from then on
// its pages stay where they are, and it counts as what cannot be moved (ADR 17).
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/vmm/view_table.h"

namespace nvs::interposer::swap {

// The driver's handle for all of what the token stands for. Waits at the gate. On failure, as out
// of memory is one, nothing has changed.
CUresult solid_handle(std::uint64_t token, CUmemGenericAllocationHandle& handle);
// The same for all views that have something there; success if there are none.
CUresult make_solid_in(const vmm::Range& range);

void forget_solid_in_child();

}  // namespace nvs::interposer::swap
