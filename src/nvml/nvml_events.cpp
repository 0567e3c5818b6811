// SPDX-License-Identifier: Apache-2.0
#include "cuda_api/nvml.h"
#include "nvml/nvml.h"
#include "nvml/symbols.h"

namespace nvs {
namespace {

constexpr unsigned kNoInstance = ~0U;

}  // namespace

NvmlResult<nvmlEventSet_t> Nvml::make_event_set() const {
  nvmlEventSet_t set = nullptr;
  const nvmlReturn_t result =
      first_of<decltype(nvmlEventSetCreate)>(library_.get(), {"nvmlEventSetCreate"}, &set);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return set;
}

void Nvml::free_event_set(nvmlEventSet_t set) const {
  first_of<decltype(nvmlEventSetFree)>(library_.get(), {"nvmlEventSetFree"}, set);
}

NvmlResult<void> Nvml::listen(nvmlEventSet_t set, nvmlDevice_t gpu) const {
  const nvmlReturn_t result = first_of<decltype(nvmlDeviceRegisterEvents)>(
      library_.get(), {"nvmlDeviceRegisterEvents"}, gpu, nvmlEventTypeXidCriticalError, set);
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  return {};
}

NvmlResult<std::optional<XidEvent>> Nvml::wait_for_event(nvmlEventSet_t set,
                                                         unsigned timeout_ms) const {
  nvmlEventData_t data{};
  // The first version of it fills the struct up to these.
  data.gpuInstanceId = kNoInstance;
  data.computeInstanceId = kNoInstance;
  const nvmlReturn_t result = first_of<decltype(nvmlEventSetWait)>(
      library_.get(), {"nvmlEventSetWait_v2", "nvmlEventSetWait"}, set, &data, timeout_ms);
  if (result == NVML_ERROR_TIMEOUT) return std::optional<XidEvent>{};
  if (result != NVML_SUCCESS) return tl::unexpected(words(result));
  if (data.eventType != nvmlEventTypeXidCriticalError) return std::optional<XidEvent>{};
  XidEvent event{.uuid = std::nullopt, .xid = data.eventData};
  if (auto name = uuid(data.device)) event.uuid = *std::move(name);
  if (data.gpuInstanceId != kNoInstance) {
    event.gpu_instance = data.gpuInstanceId;
    if (data.computeInstanceId != kNoInstance) event.compute_instance = data.computeInstanceId;
  }
  return event;
}

}  // namespace nvs
