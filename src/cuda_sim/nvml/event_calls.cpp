// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/library.h"

using nvs::nvml::Gpu;
using nvs::nvml::Library;

namespace {

constexpr unsigned kNoInstance = ~0U;

std::string events_path() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as every getenv of a library, with the program's consent
  const char* path = std::getenv("NVSHARE_SIM_NVML_EVENTS_FILE");
  return path == nullptr ? "" : path;
}

// Waits without the library's lock, so that others go on. `fill` writes what the caller's version
// of the struct has.
template <class Fill>
nvmlReturn_t wait(nvmlEventSet_t handle, nvmlEventData_t* data, unsigned timeout_ms, Fill fill) {
  return nvs::nvml::with_library(
      [&](Library& library) {
        const auto set = library.event_sets().find(handle);
        if (set == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
        const auto event = set->wait(timeout_ms);
        if (!event) return NVML_ERROR_TIMEOUT;
        data->device = library.handle(event->gpu);
        data->eventType = nvmlEventTypeXidCriticalError;
        data->eventData = event->xid;
        fill(*data);
        return NVML_SUCCESS;
      },
      data);
}

}  // namespace

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  return nvs::nvml::with_library(
      [&](Library& library) {
        *set = library.event_sets().create(events_path());
        return NVML_SUCCESS;
      },
      set);
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long* eventTypes) {
  return nvs::nvml::tell(device, eventTypes, [](const Gpu&) { return nvmlEventTypeAll; });
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes,
                                      nvmlEventSet_t set) {
  return nvs::nvml::with_gpu(device, [&](const Gpu& gpu) {
    const auto found = gpu.library.event_sets().find(set);
    if (found == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    if ((eventTypes & ~static_cast<unsigned long long>(nvmlEventTypeAll)) != 0) {
      return NVML_ERROR_NOT_SUPPORTED;
    }
    found->listen(gpu.index, eventTypes);
    return NVML_SUCCESS;
  });
}

// Its struct ends before the instances.
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data, unsigned int timeoutms) {
  return wait(set, data, timeoutms, [](nvmlEventData_t&) {});
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data,
                                 unsigned int timeoutms) {
  return wait(set, data, timeoutms, [](nvmlEventData_t& event) {
    event.gpuInstanceId = kNoInstance;
    event.computeInstanceId = kNoInstance;
  });
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  return nvs::nvml::with_library([&](Library& library) {
    return library.event_sets().remove(set) ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
  });
}
