// SPDX-License-Identifier: Apache-2.0
// After which results a context is lost for good. The driver's documentation says of each of these
// that any further work returns the same error, and that the process must be started anew to use
// CUDA again. What it does not say that of (uncorrectable errors of ECC and NVLink, unknown ones)
// is not here: whoever is taken for lost gets no windows any more.
#pragma once

#include "cuda_api/cuda_types.h"

namespace nvs {

constexpr bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_EXTERNAL_DEVICE:
      return true;
    default:
      return false;
  }
}

}  // namespace nvs
