// SPDX-License-Identifier: Apache-2.0
// NVML's calls about power, temperatures, fans and clocks.
#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/condition.h"

using nvs::nvml::Gpu;
using nvs::nvml::lacks;
using nvs::nvml::tell;
using nvs::nvml::with_gpu;

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int* power) {
  return tell(device, power, nvs::nvml::power_mw);
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long* energy) {
  return tell(device, energy, nvs::nvml::energy_mj);
}

nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, nvmlEnableState_t* mode) {
  return tell(device, mode, [](const Gpu&) { return NVML_FEATURE_ENABLED; });
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int* limit) {
  return tell(device, limit, [](const Gpu& gpu) { return gpu.board.power_max_mw; });
}

nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device,
                                                      unsigned int* defaultLimit) {
  return nvmlDeviceGetPowerManagementLimit(device, defaultLimit);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int* limit) {
  return nvmlDeviceGetPowerManagementLimit(device, limit);
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
                                                          unsigned int* minLimit,
                                                          unsigned int* maxLimit) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        *minLimit = gpu.board.power_min_mw;
        *maxLimit = gpu.board.power_max_mw;
        return NVML_SUCCESS;
      },
      minLimit, maxLimit);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType,
                                      unsigned int* temp) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (sensorType != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
        *temp = celsius(gpu);
        return NVML_SUCCESS;
      },
      temp);
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t* temperature) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (temperature->sensorType != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
        temperature->temperature = static_cast<int>(celsius(gpu));
        return NVML_SUCCESS;
      },
      temperature);
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                               nvmlTemperatureThresholds_t thresholdType,
                                               unsigned int* temp) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (thresholdType >= NVML_TEMPERATURE_THRESHOLD_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
        const auto& limits = gpu.board.celsius_limits;
        if (thresholdType >= limits.size() || limits[thresholdType] == 0) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        *temp = limits[thresholdType];
        return NVML_SUCCESS;
      },
      temp);
}

// Both cards are cooled by the fans of their server.
nvmlReturn_t nvmlDeviceGetNumFans(nvmlDevice_t device, unsigned int* numFans) {
  return tell(device, numFans, [](const Gpu&) { return 0; });
}

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int* speed) {
  return lacks(device, speed);
}

nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int, unsigned int* speed) {
  return with_gpu(
      device, [](const Gpu&) { return NVML_ERROR_INVALID_ARGUMENT; }, speed);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                    unsigned int* clock) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (type >= NVML_CLOCK_COUNT) return NVML_ERROR_NOT_SUPPORTED;
        *clock = clock_now(gpu, type);
        return NVML_SUCCESS;
      },
      clock);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int* clock) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (type >= NVML_CLOCK_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
        *clock = clock_max(gpu, type);
        return NVML_SUCCESS;
      },
      clock);
}

nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t clockType,
                                            unsigned int* clockMHz) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (clockType >= NVML_CLOCK_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
        if (clockType == NVML_CLOCK_VIDEO) return NVML_ERROR_NOT_SUPPORTED;
        *clockMHz = clock_max(gpu, clockType);
        return NVML_SUCCESS;
      },
      clockMHz);
}

nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t clockType,
                                nvmlClockId_t clockId, unsigned int* clockMHz) {
  switch (clockId) {
    case NVML_CLOCK_ID_CURRENT:
      return nvmlDeviceGetClockInfo(device, clockType, clockMHz);
    case NVML_CLOCK_ID_APP_CLOCK_TARGET:
    case NVML_CLOCK_ID_APP_CLOCK_DEFAULT:
      return nvmlDeviceGetApplicationsClock(device, clockType, clockMHz);
    case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX:
      if (clockType == NVML_CLOCK_MEM || clockType == NVML_CLOCK_VIDEO) {
        return lacks(device, clockMHz);
      }
      return nvmlDeviceGetMaxClockInfo(device, clockType, clockMHz);
    default:
      return with_gpu(
          device, [](const Gpu&) { return NVML_ERROR_INVALID_ARGUMENT; }, clockMHz);
  }
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* clocksEventReasons) {
  return tell(device, clocksEventReasons, [](const Gpu& gpu) {
    return is_busy(gpu) ? nvmlClocksEventReasonNone : nvmlClocksEventReasonGpuIdle;
  });
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* clocksThrottleReasons) {
  return nvmlDeviceGetCurrentClocksEventReasons(device, clocksThrottleReasons);
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t* pState) {
  return tell(device, pState,
              [](const Gpu& gpu) { return is_busy(gpu) ? NVML_PSTATE_0 : gpu.board.idle_state; });
}

nvmlReturn_t nvmlDeviceGetPowerState(nvmlDevice_t device, nvmlPstates_t* pState) {
  return nvmlDeviceGetPerformanceState(device, pState);
}
