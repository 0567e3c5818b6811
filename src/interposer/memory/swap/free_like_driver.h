// SPDX-License-Identifier: Apache-2.0
// cuMemFree of memory that can be moved. It waits for work as the driver's does, fails where it
// would fail, and is as fast: the driver frees a scrap of its own in its place, and then we do.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::swap {

// Whether an allocation of ours begins there.
bool is_ours(std::uint64_t address);

CUresult free_like_driver(std::uint64_t address);

// Around a call that may end the context, as with a sample (memory/sample.h).
CUdeviceptr take_scrap(std::uint64_t context);
void keep_scrap(std::uint64_t context, CUdeviceptr scrap);
void forget_scraps_in_child();

}  // namespace nvs::interposer::swap
