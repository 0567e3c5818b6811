// SPDX-License-Identifier: Apache-2.0
// Created memory for which the driver's own handle is wanted, to be shared or bound: from then on
// its pages stay where they are, and it counts as what cannot be moved (ADR 17).
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"

namespace nvs::interposer::swap {

// The driver's handle for all of what the token stands for. Waits at the gate. On failure, as out
// of memory is one, nothing has changed.
CUresult solid_handle(std::uint64_t token, CUmemGenericAllocationHandle& handle);
// The same for what is seen there; success if that is no view.
CUresult make_solid_at(std::uint64_t address);

void forget_solid_in_child();

}  // namespace nvs::interposer::swap
