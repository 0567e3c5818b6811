// SPDX-License-Identifier: Apache-2.0
// Our own declarations of NVML, under the symbols that libnvidia-ml.so.1 exports (NVML's header
// renames; nothing is renamed here). The test cuda_header_check holds them against nvml.h where one
// is found.
#pragma once

#include "cuda_api/nvml_constants.h"
#include "cuda_api/nvml_types.h"

// Whoever defines one of these functions does so to export it.
#pragma GCC visibility push(default)
extern "C" {
#define NVS_NVML_FUNCTION(type, symbol, ...) type symbol(__VA_ARGS__);
#include "spec/nvml_functions.def"
#undef NVS_NVML_FUNCTION
}
#pragma GCC visibility pop
