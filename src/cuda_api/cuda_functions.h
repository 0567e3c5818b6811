// SPDX-License-Identifier: Apache-2.0
// CUDA driver API: its functions, declared under the symbols that the library exports. cuda.h of
// the toolkit renames (cuMemAlloc means cuMemAlloc_v2); an interposer has to tell the two apart, so
// nothing is renamed here.
#pragma once

#include "cuda_api/cuda_array.h"
#include "cuda_api/cuda_device.h"
#include "cuda_api/cuda_graph.h"
#include "cuda_api/cuda_memory.h"
#include "cuda_api/cuda_module.h"
#include "cuda_api/cuda_stream.h"
#include "cuda_api/cuda_types.h"

// Whoever defines one of these functions does so to export it.
#pragma GCC visibility push(default)
extern "C" {
#define NVS_CUDA_FUNCTION(symbol, ...) CUresult symbol(__VA_ARGS__);
#define NVS_CUDA_VARIANT(symbol, base) decltype(base) symbol;
#include "spec/cuda_functions.def"
#undef NVS_CUDA_FUNCTION
#undef NVS_CUDA_VARIANT
}
#pragma GCC visibility pop
