// SPDX-License-Identifier: Apache-2.0
// Entry points: memory calls of the first version. The declarations are not included here, because
// these take no arguments: none of them is looked at.
#include "cuda_sim/api/first_versions.h"

#define NVS_SIM_FIRST_VERSION(symbol) \
  int symbol() { return nvs::sim::answer_first_version(#symbol); }

#pragma GCC visibility push(default)
extern "C" {
NVS_SIM_FIRST_VERSION(cuMemAlloc)
NVS_SIM_FIRST_VERSION(cuMemAllocPitch)
NVS_SIM_FIRST_VERSION(cuMemFree)
NVS_SIM_FIRST_VERSION(cuMemGetAddressRange)
NVS_SIM_FIRST_VERSION(cuMemGetInfo)
NVS_SIM_FIRST_VERSION(cuMemHostGetDevicePointer)
NVS_SIM_FIRST_VERSION(cuMemcpy2D)
NVS_SIM_FIRST_VERSION(cuMemcpy2DAsync)
NVS_SIM_FIRST_VERSION(cuMemcpy2DUnaligned)
NVS_SIM_FIRST_VERSION(cuMemcpy3D)
NVS_SIM_FIRST_VERSION(cuMemcpy3DAsync)
NVS_SIM_FIRST_VERSION(cuMemcpyDtoD)
NVS_SIM_FIRST_VERSION(cuMemcpyDtoDAsync)
NVS_SIM_FIRST_VERSION(cuMemcpyDtoH)
NVS_SIM_FIRST_VERSION(cuMemcpyDtoHAsync)
NVS_SIM_FIRST_VERSION(cuMemcpyHtoD)
NVS_SIM_FIRST_VERSION(cuMemcpyHtoDAsync)
NVS_SIM_FIRST_VERSION(cuMemsetD16)
NVS_SIM_FIRST_VERSION(cuMemsetD2D16)
NVS_SIM_FIRST_VERSION(cuMemsetD2D32)
NVS_SIM_FIRST_VERSION(cuMemsetD2D8)
NVS_SIM_FIRST_VERSION(cuMemsetD32)
NVS_SIM_FIRST_VERSION(cuMemsetD8)
}
#pragma GCC visibility pop
