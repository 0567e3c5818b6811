// SPDX-License-Identifier: Apache-2.0
// NVML's calls about where cards sit. The modelled host has one node of memory and one host bridge,
// below which each card has a bus of its own; there is no NVLink.
#include <algorithm>
#include <climits>
#include <span>

#include <unistd.h>

#include "cuda_api/nvml.h"
#include "cuda_sim/nvml/library.h"

using nvs::nvml::Gpu;
using nvs::nvml::lacks;
using nvs::nvml::Library;
using nvs::nvml::tell;
using nvs::nvml::with_gpu;

namespace {

constexpr unsigned kBits = sizeof(unsigned long) * CHAR_BIT;

// Runs `answer(first, second)` for two good handles.
template <class Answer, class Result>
nvmlReturn_t with_two(nvmlDevice_t device1, nvmlDevice_t device2, Result* result, Answer answer) {
  return with_gpu(
      device1,
      [&](const Gpu& first) {
        const auto second = first.library.gpu_of(device2);
        return second ? answer(first.index, *second) : NVML_ERROR_INVALID_ARGUMENT;
      },
      result);
}

nvmlReturn_t fill_set(std::span<unsigned long> set, unsigned members, nvmlAffinityScope_t scope) {
  if (set.empty() || scope > NVML_AFFINITY_SCOPE_SOCKET) return NVML_ERROR_INVALID_ARGUMENT;
  std::ranges::fill(set, 0);
  for (unsigned i = 0; i < std::min<std::size_t>(members, set.size() * kBits); ++i) {
    set[i / kBits] |= 1UL << (i % kBits);
  }
  return NVML_SUCCESS;
}

unsigned cpus() { return static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_CONF), 1L)); }

// Without an array the count is told, with one at most so many are.
template <class Wanted>
nvmlReturn_t list(const Library& library, unsigned* count, nvmlDevice_t* devices, Wanted wanted) {
  const unsigned room = devices == nullptr ? 0 : *count;
  unsigned found = 0;
  for (unsigned gpu = 0; gpu < library.gpus(); ++gpu) {
    if (!wanted(gpu)) continue;
    if (found < room) devices[found] = library.handle(gpu);
    ++found;
  }
  *count = devices == nullptr ? found : std::min(found, room);
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
                                                 nvmlGpuTopologyLevel_t* pathInfo) {
  return with_two(device1, device2, pathInfo, [&](unsigned first, unsigned second) {
    *pathInfo = first == second ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_HOSTBRIDGE;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                              unsigned int* count, nvmlDevice_t* deviceArray) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        return list(gpu.library, count, deviceArray, [&](unsigned other) {
          return other != gpu.index && level == NVML_TOPOLOGY_HOSTBRIDGE;
        });
      },
      count);
}

nvmlReturn_t nvmlSystemGetTopologyGpuSet(unsigned int cpuNumber, unsigned int* count,
                                         nvmlDevice_t* deviceArray) {
  return nvs::nvml::with_library(
      [&](const Library& library) {
        return list(library, count, deviceArray, [&](unsigned) { return cpuNumber < cpus(); });
      },
      count);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
                                    nvmlGpuP2PCapsIndex_t p2pIndex, nvmlGpuP2PStatus_t* p2pStatus) {
  return with_two(device1, device2, p2pStatus, [&](unsigned first, unsigned second) {
    if (p2pIndex >= NVML_P2P_CAPS_INDEX_UNKNOWN) return NVML_ERROR_INVALID_ARGUMENT;
    const bool reachable = first != second && p2pIndex != NVML_P2P_CAPS_INDEX_NVLINK;
    *p2pStatus = reachable ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device1, nvmlDevice_t device2, int* onSameBoard) {
  return with_two(device1, device2, onSameBoard, [&](unsigned first, unsigned second) {
    *onSameBoard = first == second ? 1 : 0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int cpuSetSize,
                                      unsigned long* cpuSet) {
  return nvmlDeviceGetCpuAffinityWithinScope(device, cpuSetSize, cpuSet, NVML_AFFINITY_SCOPE_NODE);
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int cpuSetSize,
                                                 unsigned long* cpuSet, nvmlAffinityScope_t scope) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        return fill_set({cpuSet, cpuSetSize}, cpus(), scope);
      },
      cpuSet);
}

nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int nodeSetSize,
                                         unsigned long* nodeSet, nvmlAffinityScope_t scope) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        return fill_set({nodeSet, nodeSetSize}, 1, scope);
      },
      nodeSet);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int,
                                      nvmlEnableState_t* isActive) {
  return lacks(device, isActive);
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int, unsigned int* version) {
  return lacks(device, version);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo(nvmlDevice_t device, unsigned int,
                                              nvmlPciInfo_t* pci) {
  return lacks(device, pci);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int,
                                                 nvmlPciInfo_t* pci) {
  return lacks(device, pci);
}
