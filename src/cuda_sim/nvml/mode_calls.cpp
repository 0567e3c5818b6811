// SPDX-License-Identifier: Apache-2.0
// NVML's calls about the modes of a card, MIG above all: no simulated card is ever split.
#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/library.h"

using nvs::nvml::Gpu;
using nvs::nvml::lacks;
using nvs::nvml::tell;
using nvs::nvml::with_gpu;

namespace {

// What only a MIG device has; the handles of whole GPUs are refused.
template <class Result>
nvmlReturn_t tell_of_mig_device(nvmlDevice_t device, Result* result) {
  return with_gpu(
      device, [](const Gpu&) { return NVML_ERROR_INVALID_ARGUMENT; }, result);
}

template <class Result>
nvmlReturn_t find_instance(nvmlDevice_t device, Result* result) {
  return with_gpu(
      device,
      [](const Gpu& gpu) {
        return gpu.board.has_mig ? NVML_ERROR_NOT_FOUND : NVML_ERROR_NOT_SUPPORTED;
      },
      result);
}

}  // namespace

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) {
  return tell(device, mode, [](const Gpu&) { return NVML_COMPUTEMODE_DEFAULT; });
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return tell(device, mode, [](const Gpu&) { return NVML_FEATURE_ENABLED; });
}

nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t* display) {
  return tell(device, display, [](const Gpu&) { return NVML_FEATURE_ENABLED; });
}

nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t* isActive) {
  return tell(device, isActive, [](const Gpu&) { return NVML_FEATURE_DISABLED; });
}

nvmlReturn_t nvmlDeviceGetVirtualizationMode(nvmlDevice_t device,
                                             nvmlGpuVirtualizationMode_t* pVirtualMode) {
  return tell(device, pVirtualMode, [](const Gpu&) { return NVML_GPU_VIRTUALIZATION_MODE_NONE; });
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* currentMode,
                                  unsigned int* pendingMode) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (!gpu.board.has_mig) return NVML_ERROR_NOT_SUPPORTED;
        *currentMode = NVML_DEVICE_MIG_DISABLE;
        *pendingMode = NVML_DEVICE_MIG_DISABLE;
        return NVML_SUCCESS;
      },
      currentMode, pendingMode);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int* count) {
  return tell(device, count, [](const Gpu&) { return 0; });
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int* isMigDevice) {
  return tell(device, isMigDevice, [](const Gpu&) { return 0; });
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int,
                                                 nvmlDevice_t* migDevice) {
  return find_instance(device, migDevice);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int,
                                          nvmlGpuInstance_t* gpuInstance) {
  return find_instance(device, gpuInstance);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
                                                          nvmlDevice_t* device) {
  return tell_of_mig_device(migDevice, device);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int* id) {
  return tell_of_mig_device(device, id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int* id) {
  return tell_of_mig_device(device, id);
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return lacks(device, attributes);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return lacks(device, attributes);
}
