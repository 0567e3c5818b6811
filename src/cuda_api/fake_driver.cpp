// SPDX-License-Identifier: Apache-2.0
// A driver of three functions, for the test of the loader. With NVS_FAKE_SIMULATOR it answers as
// the simulator does.
#include "cuda_api/cuda.h"
#include "cuda_sim/test_api.h"

CUresult cuInit(unsigned int) { return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr*, size_t) { return CUDA_ERROR_OUT_OF_MEMORY; }

#ifdef NVS_FAKE_SIMULATOR
unsigned cusimScale(void) { return 64; }
#endif
