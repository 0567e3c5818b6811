// SPDX-License-Identifier: Apache-2.0
#include "workloads/cuda_error.h"

#include <fmt/format.h>

namespace nvs::workloads {
namespace {

std::string describe(const Driver& driver, const char* call, CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.cuGetErrorName != nullptr) driver.cuGetErrorName(result, &name);
  if (driver.cuGetErrorString != nullptr) driver.cuGetErrorString(result, &text);
  std::string message =
      fmt::format("{} failed: {} ({})", call, name != nullptr ? name : "an error without a name",
                  text != nullptr ? text : fmt::format("number {}", static_cast<int>(result)));
  const std::string advice = advice_for(result);
  if (!advice.empty()) message += "\n  " + advice;
  return message;
}

}  // namespace

CudaError::CudaError(const Driver& driver, const char* call, CUresult result)
    : std::runtime_error(describe(driver, call, result)), result_(result) {}

std::string advice_for(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "The GPU, or this tenant's limit, has no room for it: choose a smaller --size, or end "
             "other programs on this GPU (nvidia-smi lists them).";
    case CUDA_ERROR_NO_DEVICE:
      return "The driver sees no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES, or run on the "
             "simulator with --driver build/lib/sim/libcuda.so.1.";
    case CUDA_ERROR_INVALID_DEVICE:
      return "There is no GPU of that number: choose another --device.";
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return "The kernels need a GPU of compute capability 7.5 (T4) or newer and a driver of 2018 "
             "or newer.";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
      return "A kernel touched memory that is not there; the context is lost. If compute-sanitizer "
             "finds nothing, memory was unmapped under running work.";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
      return "The driver library and the kernel module differ in version: restart the machine.";
    case CUDA_ERROR_NOT_SUPPORTED:
      return "This driver cannot do that; on the simulator it means: not modelled yet.";
    default:
      return "";
  }
}

}  // namespace nvs::workloads
