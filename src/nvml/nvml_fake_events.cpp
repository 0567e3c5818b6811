// SPDX-License-Identifier: Apache-2.0
// The events of FakeNvml: each line `GPU XID GPU_INSTANCE COMPUTE_INSTANCE` that is appended to the
// file NVSHARE_FAKE_NVML_EVENTS is one, of a GPU that somebody listens to; -1 is no instance.
// Waiting fails while one of those GPUs is lost.
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "cuda_api/nvml.h"

struct nvmlEventSet_st {
  std::array<nvmlDevice_t, 16> listens{};
  std::streamoff position = 0;
};

namespace {

struct Line {
  unsigned gpu = 0;
  unsigned long long xid = 0;
  int gpu_instance = -1;
  int compute_instance = -1;
};

bool read_line(nvmlEventSet_st& set, Line& line) {
  const char* path = std::getenv("NVSHARE_FAKE_NVML_EVENTS");
  if (path == nullptr) return false;
  std::ifstream file(path);
  file.seekg(set.position);
  // Half of a line is not one yet.
  if (!(file >> line.gpu >> line.xid >> line.gpu_instance >> line.compute_instance)) return false;
  if (file.get() != '\n') return false;
  set.position = file.tellg();
  return line.gpu < set.listens.size();
}

}  // namespace

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = new nvmlEventSet_st;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  delete set;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long /*types*/,
                                      nvmlEventSet_t set) {
  for (unsigned index = 0; index < set->listens.size(); ++index) {
    nvmlDevice_t other = nullptr;
    if (nvmlDeviceGetHandleByIndex(index, &other) == NVML_SUCCESS && other == device) {
      set->listens.at(index) = device;
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned timeout_ms) {
  for (unsigned waited = 0; waited <= timeout_ms; waited += 5) {
    Line line;
    if (read_line(*set, line) && set->listens.at(line.gpu) != nullptr) {
      data->eventType = nvmlEventTypeXidCriticalError;
      data->eventData = line.xid;
      data->gpuInstanceId = static_cast<unsigned>(line.gpu_instance);
      data->computeInstanceId = static_cast<unsigned>(line.compute_instance);
      data->device = set->listens.at(line.gpu);
      return NVML_SUCCESS;
    }
    for (unsigned gpu = 0; gpu < set->listens.size(); ++gpu) {
      nvmlDevice_t device = set->listens.at(gpu);
      if (device != nullptr && nvmlDeviceGetHandleByIndex(gpu, &device) != NVML_SUCCESS) {
        return NVML_ERROR_GPU_IS_LOST;
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return NVML_ERROR_TIMEOUT;
}
