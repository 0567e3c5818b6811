// SPDX-License-Identifier: Apache-2.0
// NVML's constants: sizes of buffers, event types, reasons for clocks, and the versions that NVML
// wants to see inside some structs.
#pragma once

#include "cuda_api/nvml_types.h"

inline constexpr int NVML_AFFINITY_SCOPE_NODE = 0;
inline constexpr int NVML_AFFINITY_SCOPE_SOCKET = 1;
inline constexpr int NVML_API_VERSION = 13;
inline constexpr int NVML_BUS_TYPE_AGP = 4;
inline constexpr int NVML_BUS_TYPE_FPCI = 3;
inline constexpr int NVML_BUS_TYPE_PCI = 1;
inline constexpr int NVML_BUS_TYPE_PCIE = 2;
inline constexpr int NVML_BUS_TYPE_UNKNOWN = 0;
inline constexpr int NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT = 0x1;
inline constexpr int NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED = 0x0;
inline constexpr int NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 0x8;
inline constexpr int NVML_DEVICE_ARCH_ADA = 8;
inline constexpr int NVML_DEVICE_ARCH_AMPERE = 7;
inline constexpr int NVML_DEVICE_ARCH_BLACKWELL = 10;
inline constexpr int NVML_DEVICE_ARCH_HOPPER = 9;
inline constexpr int NVML_DEVICE_ARCH_KEPLER = 2;
inline constexpr int NVML_DEVICE_ARCH_MAXWELL = 3;
inline constexpr int NVML_DEVICE_ARCH_PASCAL = 4;
inline constexpr int NVML_DEVICE_ARCH_TURING = 6;
inline constexpr unsigned int NVML_DEVICE_ARCH_UNKNOWN = 0xffffffff;
inline constexpr int NVML_DEVICE_ARCH_VOLTA = 5;
inline constexpr int NVML_DEVICE_MIG_DISABLE = 0x0;
inline constexpr int NVML_DEVICE_MIG_ENABLE = 0x1;
inline constexpr int NVML_DEVICE_NAME_BUFFER_SIZE = 64;
inline constexpr int NVML_DEVICE_NAME_V2_BUFFER_SIZE = 96;
inline constexpr int NVML_DEVICE_PART_NUMBER_BUFFER_SIZE = 80;
inline constexpr int NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE = 32;
inline constexpr int NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE = 16;
inline constexpr int NVML_DEVICE_SERIAL_BUFFER_SIZE = 30;
inline constexpr int NVML_DEVICE_UUID_ASCII_LEN = 41;
inline constexpr int NVML_DEVICE_UUID_BINARY_LEN = 16;
inline constexpr int NVML_DEVICE_UUID_BUFFER_SIZE = 80;
inline constexpr int NVML_DEVICE_UUID_V2_BUFFER_SIZE = 96;
inline constexpr int NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE = 32;
inline constexpr int NVML_FI_DEV_ECC_CURRENT = 1;
inline constexpr int NVML_FI_DEV_MEMORY_TEMP = 82;
inline constexpr int NVML_FI_DEV_NVLINK_LINK_COUNT = 91;
inline constexpr int NVML_FI_DEV_POWER_AVERAGE = 185;
inline constexpr int NVML_FI_DEV_POWER_INSTANT = 186;
inline constexpr int NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83;
inline constexpr int NVML_GPU_INSTANCE_PROFILE_COUNT = 0x11;
inline constexpr int NVML_GSP_FIRMWARE_VERSION_BUF_SIZE = 0x40;
inline constexpr int NVML_INIT_FLAG_NO_ATTACH = 2;
inline constexpr int NVML_INIT_FLAG_NO_GPUS = 1;
inline constexpr int NVML_NVLINK_MAX_LINKS = 18;
inline constexpr int NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE = 80;
inline constexpr int NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE = 80;
inline constexpr int NVML_VALUE_NOT_AVAILABLE = -1;
inline constexpr long long nvmlClocksEventReasonApplicationsClocksSetting = 0x2;
inline constexpr long long nvmlClocksEventReasonDisplayClockSetting = 0x100;
inline constexpr long long nvmlClocksEventReasonGpuIdle = 0x1;
inline constexpr long long nvmlClocksEventReasonNone = 0x0;
inline constexpr long long nvmlClocksEventReasonSwPowerCap = 0x4;
inline constexpr long long nvmlClocksEventReasonSwThermalSlowdown = 0x20;
inline constexpr long long nvmlClocksEventReasonSyncBoost = 0x10;
inline constexpr long long nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80;
inline constexpr long long nvmlClocksThrottleReasonHwSlowdown = 0x8;
inline constexpr long long nvmlClocksThrottleReasonHwThermalSlowdown = 0x40;
inline constexpr long long nvmlClocksThrottleReasonNone = nvmlClocksEventReasonNone;
inline constexpr long long nvmlEventMigConfigChange = 0x100;
inline constexpr long long nvmlEventTypeClock = 0x10;
inline constexpr long long nvmlEventTypeDoubleBitEccError = 0x2;
inline constexpr long long nvmlEventTypeDramRetirementEvent = 0x400;
inline constexpr long long nvmlEventTypeDramRetirementFailure = 0x800;
inline constexpr long long nvmlEventTypeFatalPoisonError = 0x2000;
inline constexpr long long nvmlEventTypeGpuRecoveryAction = 0x8000;
inline constexpr long long nvmlEventTypeGpuUnavailableError = 0x4000;
inline constexpr long long nvmlEventTypeNonFatalPoisonError = 0x1000;
inline constexpr long long nvmlEventTypeNone = 0x0;
inline constexpr long long nvmlEventTypePState = 0x4;
inline constexpr long long nvmlEventTypePowerSourceChange = 0x80;
inline constexpr long long nvmlEventTypeSingleBitEccError = 0x1;
inline constexpr long long nvmlEventTypeSingleBitEccErrorStorm = 0x200;
inline constexpr long long nvmlEventTypeXidCriticalError = 0x8;
inline constexpr long long nvmlClocksEventReasonAll =
    nvmlClocksThrottleReasonNone | nvmlClocksEventReasonGpuIdle |
    nvmlClocksEventReasonApplicationsClocksSetting | nvmlClocksEventReasonSwPowerCap |
    nvmlClocksThrottleReasonHwSlowdown | nvmlClocksEventReasonSyncBoost |
    nvmlClocksEventReasonSwThermalSlowdown | nvmlClocksThrottleReasonHwThermalSlowdown |
    nvmlClocksThrottleReasonHwPowerBrakeSlowdown | nvmlClocksEventReasonDisplayClockSetting;
inline constexpr long long nvmlEventTypeAll =
    nvmlEventTypeNone | nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError |
    nvmlEventTypePState | nvmlEventTypeClock | nvmlEventTypeXidCriticalError |
    nvmlEventTypePowerSourceChange | nvmlEventMigConfigChange |
    nvmlEventTypeSingleBitEccErrorStorm | nvmlEventTypeDramRetirementEvent |
    nvmlEventTypeDramRetirementFailure | nvmlEventTypeNonFatalPoisonError |
    nvmlEventTypeFatalPoisonError | nvmlEventTypeGpuUnavailableError |
    nvmlEventTypeGpuRecoveryAction;

namespace nvs {

// NVML tells the revisions of a struct apart by its size and a number in the top byte.
template <class Struct>
constexpr unsigned int nvml_struct_version(unsigned int revision) {
  return static_cast<unsigned int>(sizeof(Struct)) | (revision << 24U);
}

}  // namespace nvs

inline constexpr unsigned int nvmlDeviceAddressingMode_v1 =
    nvs::nvml_struct_version<nvmlDeviceAddressingMode_v1_t>(1);
inline constexpr unsigned int nvmlMemory_v2 = nvs::nvml_struct_version<nvmlMemory_v2_t>(2);
inline constexpr unsigned int nvmlPciInfoExt_v1 = nvs::nvml_struct_version<nvmlPciInfoExt_v1_t>(1);
inline constexpr unsigned int nvmlProcessDetailList_v1 =
    nvs::nvml_struct_version<nvmlProcessDetailList_v1_t>(1);
inline constexpr unsigned int nvmlProcessesUtilizationInfo_v1 =
    nvs::nvml_struct_version<nvmlProcessesUtilizationInfo_v1_t>(1);
inline constexpr unsigned int nvmlTemperature_v1 =
    nvs::nvml_struct_version<nvmlTemperature_v1_t>(1);
inline constexpr unsigned int nvmlUUID_v1 = nvs::nvml_struct_version<nvmlUUID_v1_t>(1);
