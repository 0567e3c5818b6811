// SPDX-License-Identifier: Apache-2.0
// NVML's calls about a card's memory: how much of it is used, and what went wrong in it (nothing).
#include <algorithm>

#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/library.h"

using nvs::nvml::Errors;
using nvs::nvml::Gpu;
using nvs::nvml::lacks;
using nvs::nvml::tell;
using nvs::nvml::with_gpu;

namespace {

// As on a card, NVML's total is CUDA's and what the driver keeps for itself. The free bytes are
// those of cuMemGetInfo.
nvmlMemory_v2_t measure_memory(const Gpu& gpu) {
  constexpr std::uint64_t kPage = 4096;
  nvmlMemory_v2_t memory{};
  const std::uint64_t capacity = gpu.machine.capacity();
  memory.used = std::min<std::uint64_t>(gpu.machine.used(gpu.index), capacity);
  memory.reserved = gpu.board.reserved_bytes / gpu.machine.scale() / kPage * kPage;
  memory.free = capacity - memory.used;
  memory.total = capacity + memory.reserved;
  return memory;
}

bool is_known(nvmlMemoryErrorType_t type, nvmlEccCounterType_t counter) {
  return type < NVML_MEMORY_ERROR_TYPE_COUNT && counter < NVML_ECC_COUNTER_TYPE_COUNT;
}

nvmlReturn_t no_errors(unsigned long long* count) {
  *count = 0;
  return NVML_SUCCESS;
}

}  // namespace

// The first version knows no reserve and counts it as used.
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return tell(device, memory, [](const Gpu& gpu) {
    const nvmlMemory_v2_t all = measure_memory(gpu);
    return nvmlMemory_t{.total = all.total, .free = all.free, .used = all.used + all.reserved};
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        // Alone among the calls with versioned structs it says so in this way.
        if (memory->version != nvmlMemory_v2) return NVML_ERROR_FUNCTION_NOT_FOUND;
        *memory = measure_memory(gpu);
        memory->version = nvmlMemory_v2;
        return NVML_SUCCESS;
      },
      memory);
}

// On a card with a large BAR all memory in use is mapped there.
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t* bar1Memory) {
  return tell(device, bar1Memory, [](const Gpu& gpu) {
    const unsigned long long total = gpu.board.bar1_bytes / gpu.machine.scale();
    const unsigned long long used =
        gpu.board.bar1_bytes > gpu.model.memory_bytes ? gpu.machine.used(gpu.index) : total / 64;
    return nvmlBAR1Memory_t{.bar1Total = total, .bar1Free = total - used, .bar1Used = used};
  });
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current,
                                  nvmlEnableState_t* pending) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        *current = NVML_FEATURE_ENABLED;
        *pending = NVML_FEATURE_ENABLED;
        return NVML_SUCCESS;
      },
      current, pending);
}

nvmlReturn_t nvmlDeviceGetDefaultEccMode(nvmlDevice_t device, nvmlEnableState_t* defaultMode) {
  return tell(device, defaultMode, [](const Gpu&) { return NVML_FEATURE_ENABLED; });
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                         nvmlEccCounterType_t counterType,
                                         unsigned long long* eccCounts) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        return is_known(errorType, counterType) ? no_errors(eccCounts)
                                                : NVML_ERROR_INVALID_ARGUMENT;
      },
      eccCounts);
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                             nvmlEccCounterType_t counterType,
                                             nvmlMemoryLocation_t locationType,
                                             unsigned long long* count) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        if (!is_known(errorType, counterType) || locationType >= NVML_MEMORY_LOCATION_COUNT) {
          return NVML_ERROR_INVALID_ARGUMENT;
        }
        if (locationType != NVML_MEMORY_LOCATION_DRAM &&
            locationType != NVML_MEMORY_LOCATION_SRAM) {
          return NVML_ERROR_NOT_SUPPORTED;
        }
        return no_errors(count);
      },
      count);
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                       unsigned int* pageCount, unsigned long long*) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT) return NVML_ERROR_INVALID_ARGUMENT;
        if (gpu.board.errors != Errors::page_retirement) return NVML_ERROR_NOT_SUPPORTED;
        *pageCount = 0;
        return NVML_SUCCESS;
      },
      pageCount);
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
                                                    nvmlEnableState_t* isPending) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (gpu.board.errors != Errors::page_retirement) return NVML_ERROR_NOT_SUPPORTED;
        *isPending = NVML_FEATURE_DISABLED;
        return NVML_SUCCESS;
      },
      isPending);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int* corrRows,
                                       unsigned int* uncRows, unsigned int* isPending,
                                       unsigned int* failureOccurred) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (gpu.board.errors != Errors::row_remapping) return NVML_ERROR_NOT_SUPPORTED;
        for (unsigned int* result : {corrRows, uncRows, isPending, failureOccurred}) *result = 0;
        return NVML_SUCCESS;
      },
      corrRows, uncRows, isPending, failureOccurred);
}

// Only cards whose memory is a node of the host's memory answer this.
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int* node) {
  return lacks(device, node);
}

nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t* mode) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        if (mode->version != nvmlDeviceAddressingMode_v1) {
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        }
        mode->value = 0;  // neither HMM nor ATS
        return NVML_SUCCESS;
      },
      mode);
}
