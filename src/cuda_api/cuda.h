// SPDX-License-Identifier: Apache-2.0
// Our own declarations of the CUDA 13.0 driver API: names, values and layouts are those of the
// toolkit's cuda.h, which the product builds without. The test cuda_header_check holds the two
// against each other where a toolkit is installed.
#pragma once

#include "cuda_api/cuda_array.h"
#include "cuda_api/cuda_device.h"
#include "cuda_api/cuda_functions.h"
#include "cuda_api/cuda_graph.h"
#include "cuda_api/cuda_memory.h"
#include "cuda_api/cuda_module.h"
#include "cuda_api/cuda_stream.h"
#include "cuda_api/cuda_types.h"
