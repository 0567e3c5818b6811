// SPDX-License-Identifier: Apache-2.0
// NVML's fields: figures asked for by number, many at once. A few are known, which other calls tell
// too; of the others each says for itself that it is not supported.
#include <span>

#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/condition.h"

using nvs::nvml::Gpu;

namespace {

nvmlReturn_t store(nvmlFieldValue_t& field, nvmlValueType_t type, unsigned long long value) {
  field.valueType = type;
  if (type == NVML_VALUE_TYPE_UNSIGNED_INT) {
    field.value.uiVal = static_cast<unsigned>(value);
  } else {
    field.value.ullVal = value;
  }
  return NVML_SUCCESS;
}

nvmlReturn_t look_up(const Gpu& gpu, nvmlFieldValue_t& field) {
  switch (field.fieldId) {
    case NVML_FI_DEV_ECC_CURRENT:
      return store(field, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, NVML_FEATURE_ENABLED);
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
      return store(field, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, energy_mj(gpu));
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT:
      return store(field, NVML_VALUE_TYPE_UNSIGNED_INT, power_mw(gpu));
    default:
      return NVML_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount,
                                      nvmlFieldValue_t* values) {
  return nvs::nvml::with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (valuesCount <= 0) return NVML_ERROR_INVALID_ARGUMENT;
        for (nvmlFieldValue_t& field : std::span{values, static_cast<std::size_t>(valuesCount)}) {
          field.timestamp = static_cast<long long>(nvs::nvml::now().wall_us);
          field.latencyUsec = 0;
          field.nvmlReturn = look_up(gpu, field);
        }
        return NVML_SUCCESS;
      },
      values);
}
