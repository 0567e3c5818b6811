// SPDX-License-Identifier: Apache-2.0
// NVML's ways to a device handle: by index, UUID, place on the PCI bus and serial number.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cuda_api/nvml.h"
#include "cuda_sim/config/gpu_identity.h"
#include "cuda_sim/nvml/identity.h"
#include "cuda_sim/nvml/library.h"

using nvs::nvml::Library;
using nvs::nvml::with_library;
using nvs::sim::PciAddress;

namespace {

constexpr std::string_view kPrefix = "GPU-";

template <class Matches>
nvmlReturn_t find(const Library& library, nvmlDevice_t* device, Matches matches) {
  for (unsigned gpu = 0; gpu < library.gpus(); ++gpu) {
    if (!matches(gpu)) continue;
    *device = library.handle(gpu);
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

// The prefix may be left out; letters are small.
nvmlReturn_t find_uuid(const Library& library, std::string_view asked, nvmlDevice_t* device) {
  if (asked.starts_with(kPrefix)) asked.remove_prefix(kPrefix.size());
  return find(library, device, [&](unsigned gpu) {
    const std::string text = nvs::sim::uuid_text(nvs::sim::gpu_uuid(library.model().preset, gpu));
    return std::string_view{text}.substr(kPrefix.size()) == asked;
  });
}

// domain:bus:device with or without .0, or bus:device.0; what follows is not looked at.
std::optional<PciAddress> parse_pci(const char* text) {
  PciAddress address;
  unsigned function = 0;
  if (std::sscanf(text, "%x:%x:%x.%x", &address.domain, &address.bus, &address.device, &function) <
      3) {
    address = {};
    if (std::sscanf(text, "%x:%x.%x", &address.bus, &address.device, &function) < 3) {
      return std::nullopt;
    }
  }
  if (function != 0) return std::nullopt;
  return address;
}

}  // namespace

nvmlReturn_t nvmlDeviceGetCount(unsigned int* deviceCount) {
  return nvmlDeviceGetCount_v2(deviceCount);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* deviceCount) {
  return with_library(
      [&](const Library& library) {
        *deviceCount = library.gpus();
        return NVML_SUCCESS;
      },
      deviceCount);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  return with_library(
      [&](const Library& library) {
        if (index >= library.gpus()) return NVML_ERROR_INVALID_ARGUMENT;
        *device = library.handle(index);
        return NVML_SUCCESS;
      },
      device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return with_library([&](const Library& library) { return find_uuid(library, uuid, device); },
                      uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t* uuid, nvmlDevice_t* device) {
  enum Type : unsigned { kAscii = 1, kBinary = 2 };
  return with_library(
      [&](const Library& library) {
        if (uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        if (uuid->type == kAscii) {
          const std::span text{uuid->value.str};
          const auto end = std::find(text.begin(), text.end(), '\0');
          return find_uuid(library, std::string(text.begin(), end), device);
        }
        if (uuid->type != kBinary) return NVML_ERROR_INVALID_ARGUMENT;
        return find(library, device, [&](unsigned gpu) {
          const auto own = nvs::sim::gpu_uuid(library.model().preset, gpu);
          return std::ranges::equal(own, uuid->value.bytes);
        });
      },
      uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* pciBusId, nvmlDevice_t* device) {
  return nvmlDeviceGetHandleByPciBusId_v2(pciBusId, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* pciBusId, nvmlDevice_t* device) {
  return with_library(
      [&](const Library& library) {
        const std::optional<PciAddress> asked = parse_pci(pciBusId);
        if (!asked) return NVML_ERROR_INVALID_ARGUMENT;
        return find(library, device,
                    [&](unsigned gpu) { return nvs::sim::gpu_pci(gpu) == *asked; });
      },
      pciBusId, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* device) {
  return with_library(
      [&](const Library& library) {
        return find(library, device, [&](unsigned gpu) {
          return nvs::nvml::serial_number(library.model(), gpu) == serial;
        });
      },
      serial, device);
}
