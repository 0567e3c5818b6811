// SPDX-License-Identifier: Apache-2.0
// The attributes of addresses where a program sees memory that it created itself (ADR 17), as the
// driver tells them of such memory.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/memory/swap/query.h"

namespace nvs::interposer::memory {

CUresult view_attribute(const swap::Named& named, std::uint64_t address,
                        CUpointer_attribute attribute, void* out);

}  // namespace nvs::interposer::memory
