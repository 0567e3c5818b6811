// SPDX-License-Identifier: Apache-2.0
// The attributes of addresses in memory of ours, as the driver would tell them of its own.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/swap/query.h"

namespace nvs::interposer::memory {

CUresult pointer_attribute(const swap::Named& named, std::uint64_t address,
                           CUpointer_attribute attribute, void* out);

CUresult pointer_attributes(const swap::Named& named, std::uint64_t address, unsigned count,
                            CUpointer_attribute* attributes, void** outs);

}  // namespace nvs::interposer::memory
