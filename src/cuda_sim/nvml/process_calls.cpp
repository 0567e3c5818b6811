// SPDX-License-Identifier: Apache-2.0
// NVML's lists of the processes on a card. The modelled ones only compute, and without MPS.
#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/library.h"
#include "cuda_sim/nvml/process_books.h"

using nvs::nvml::Gpu;
using nvs::nvml::GpuProcess;
using nvs::nvml::with_gpu;
using Processes = std::vector<GpuProcess>;

namespace {

constexpr unsigned kInNoInstance = ~0U;

void fill(nvmlProcessInfo_v1_t& info, const GpuProcess& process) {
  info = {.pid = process.pid, .usedGpuMemory = process.bytes};
}

void fill(nvmlProcessInfo_v2_t& info, const GpuProcess& process) {
  info = {.pid = process.pid,
          .usedGpuMemory = process.bytes,
          .gpuInstanceId = kInNoInstance,
          .computeInstanceId = kInNoInstance};
}

void fill(nvmlProcessDetail_v1_t& info, const GpuProcess& process) {
  info = {.pid = process.pid,
          .usedGpuMemory = process.bytes,
          .gpuInstanceId = kInNoInstance,
          .computeInstanceId = kInNoInstance,
          .usedGpuCcProtectedMemory = 0};
}

// The caller's buffer is filled only if it holds all of them; the count is told in any case.
template <class Info>
nvmlReturn_t fill_all(const Processes& processes, unsigned* count, Info* infos) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(processes.size());
  if (room < processes.size()) return NVML_ERROR_INSUFFICIENT_SIZE;
  if (!processes.empty() && infos == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  for (const GpuProcess& process : processes) fill(*infos++, process);
  return NVML_SUCCESS;
}

template <class Info>
nvmlReturn_t list_compute(nvmlDevice_t device, unsigned* count, Info* infos) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        return fill_all(nvs::nvml::processes_on(gpu.machine, gpu.index), count, infos);
      },
      count);
}

nvmlReturn_t list_nobody(nvmlDevice_t device, unsigned* count) {
  return nvs::nvml::tell(device, count, [](const Gpu&) { return 0; });
}

}  // namespace

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int* infoCount,
                                                  nvmlProcessInfo_v1_t* infos) {
  return list_compute(device, infoCount, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int* infoCount,
                                                     nvmlProcessInfo_v2_t* infos) {
  return list_compute(device, infoCount, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int* infoCount,
                                                     nvmlProcessInfo_t* infos) {
  return list_compute(device, infoCount, infos);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int* infoCount,
                                                   nvmlProcessInfo_v1_t*) {
  return list_nobody(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int* infoCount,
                                                      nvmlProcessInfo_v2_t*) {
  return list_nobody(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int* infoCount,
                                                      nvmlProcessInfo_t*) {
  return list_nobody(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int* infoCount,
                                                     nvmlProcessInfo_v1_t*) {
  return list_nobody(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device,
                                                        unsigned int* infoCount,
                                                        nvmlProcessInfo_v2_t*) {
  return list_nobody(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device,
                                                        unsigned int* infoCount,
                                                        nvmlProcessInfo_t*) {
  return list_nobody(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                   nvmlProcessDetailList_t* plist) {
  enum Mode : unsigned { kCompute = 0, kGraphics = 1, kMps = 2 };
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (plist->version != nvmlProcessDetailList_v1) {
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        if (plist->mode > kMps) return NVML_ERROR_INVALID_ARGUMENT;
        const Processes processes =
            plist->mode == kCompute ? nvs::nvml::processes_on(gpu.machine, gpu.index) : Processes{};
        return fill_all(processes, &plist->numProcArrayEntries, plist->procArray);
      },
      plist);
}
