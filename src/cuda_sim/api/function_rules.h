// SPDX-License-Identifier: Apache-2.0
// What functions of modules and kernels of libraries have in common.
#pragma once

#include "cuda_sim/api/call.h"

namespace nvs::sim {

/// What the compiler gives the built-in kernels, near enough.
inline constexpr int kRegisters = 16;

CUresult get_function_attribute(const Function& function, CUfunction_attribute attribute,
                                int* value);
CUresult set_function_attribute(Function& function, CUfunction_attribute attribute, int value);
CUresult parameter_info(const Function& function, std::size_t index, std::size_t* offset,
                        std::size_t* size);

}  // namespace nvs::sim
