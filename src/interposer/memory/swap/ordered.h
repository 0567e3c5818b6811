// SPDX-License-Identifier: Apache-2.0
// cuMemAllocAsync and cuMemFreeAsync of memory that can be moved (decision 13). An allocation is
// there at once, which is more than the driver promises; a block that was freed in a stream is
// reused in it at once, and elsewhere when the stream has got past the free.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"
#include "interposer/memory/reservation.h"
#include "interposer/memory/swap/allocate.h"

namespace nvs::interposer::swap {

// Not for a stream that is being captured, in both; and never a null stream.
struct Ordered {
  std::uint64_t bytes = 0;
  std::uint64_t pool = 0;  // 0: the current one of the stream's device
  CUstream stream = nullptr;
};
// May wait until there is room. `made`: what came of it, if there is memory.
Got allocate_ordered(const Ordered& wanted, Allocated& made, memory::Reservation& reserved);

// Of memory of ours, however it was allocated.
CUresult free_ordered(std::uint64_t address, CUstream stream);

}  // namespace nvs::interposer::swap
