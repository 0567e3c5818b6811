// SPDX-License-Identifier: Apache-2.0
// NVML's calls that say which card a handle stands for and what kind of card it is.
#include "cuda_sim/nvml/identity.h"

#include <cstdint>
#include <cstdio>
#include <span>

#include "cuda_api/nvml.h"
#include "cuda_sim/config/gpu_identity.h"
#include "cuda_sim/nvml/library.h"
#include "cuda_sim/nvml/text.h"
#include "cuda_sim/nvml/variant.h"

using nvs::nvml::copy_text;
using nvs::nvml::Gpu;
using nvs::nvml::tell;
using nvs::nvml::with_gpu;

namespace nvs::nvml {

std::string serial_number(const sim::Model& model, unsigned gpu) {
  std::uint64_t number = 0;
  for (const unsigned char byte : sim::gpu_uuid(model.preset, gpu)) number = number * 131 + byte;
  return "165" + std::to_string(1'000'000'000 + number % 9'000'000'000);
}

}  // namespace nvs::nvml

namespace {

void print_pci(const nvs::sim::PciAddress& address, std::span<char> legacy) {
  std::snprintf(legacy.data(), legacy.size(), "%s", nvs::sim::pci_text(address).c_str());
}

void print_long_pci(const nvs::sim::PciAddress& address, std::span<char> text) {
  std::snprintf(text.data(), text.size(), "%08X:%02X:%02X.0", address.domain, address.bus,
                address.device);
}

// Each version of the struct is longer than the one before; the caller has room for its own only.
enum class PciVersion { v1, v2, v3 };

nvmlReturn_t tell_pci(nvmlDevice_t device, nvmlPciInfo_t* pci, PciVersion version) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        const nvs::sim::PciAddress address = nvs::sim::gpu_pci(gpu.index);
        print_pci(address, pci->busIdLegacy);
        pci->domain = address.domain;
        pci->bus = address.bus;
        pci->device = address.device;
        pci->pciDeviceId = gpu.board.pci_device_id;
        if (version != PciVersion::v1) pci->pciSubSystemId = gpu.board.pci_subsystem_id;
        if (version == PciVersion::v3) print_long_pci(address, pci->busId);
        return NVML_SUCCESS;
      },
      pci);
}

}  // namespace

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned int length) {
  return with_gpu(
      device, [&](const Gpu& gpu) { return copy_text(gpu.model.device_name, name, length); }, name);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned int length) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        const auto own = nvs::sim::gpu_uuid(gpu.model.preset, gpu.index);
        return copy_text(nvs::sim::uuid_text(own), uuid, length);
      },
      uuid);
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char* serial, unsigned int length) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        return copy_text(nvs::nvml::serial_number(gpu.model, gpu.index), serial, length);
      },
      serial);
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char* version, unsigned int length) {
  return with_gpu(
      device, [&](const Gpu& gpu) { return copy_text(gpu.board.vbios_version, version, length); },
      version);
}

nvmlReturn_t nvmlDeviceGetBoardPartNumber(nvmlDevice_t device, char* partNumber,
                                          unsigned int length) {
  return with_gpu(
      device, [&](const Gpu& gpu) { return copy_text(gpu.board.part_number, partNumber, length); },
      partNumber);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char* version) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        return copy_text(nvs::nvml::kVariant.driver_version, version,
                         NVML_GSP_FIRMWARE_VERSION_BUF_SIZE);
      },
      version);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned int* isEnabled,
                                          unsigned int* defaultMode) {
  return with_gpu(
      device,
      [&](const Gpu&) {
        *isEnabled = 1;
        *defaultMode = 1;
        return NVML_SUCCESS;
      },
      isEnabled, defaultMode);
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int* index) {
  return tell(device, index, [](const Gpu& gpu) { return gpu.index; });
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minorNumber) {
  return tell(device, minorNumber, [](const Gpu& gpu) { return gpu.index; });
}

nvmlReturn_t nvmlDeviceGetBoardId(nvmlDevice_t device, unsigned int* boardId) {
  return tell(device, boardId, [](const Gpu& gpu) {
    const nvs::sim::PciAddress address = nvs::sim::gpu_pci(gpu.index);
    return address.domain << 16 | address.bus << 8 | address.device;
  });
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t* type) {
  return tell(device, type, [](const Gpu&) { return NVML_BRAND_NVIDIA; });
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* arch) {
  return tell(device, arch, [](const Gpu& gpu) { return gpu.board.architecture; });
}

nvmlReturn_t nvmlDeviceGetBusType(nvmlDevice_t device, nvmlBusType_t* type) {
  return tell(device, type, [](const Gpu&) { return NVML_BUS_TYPE_PCIE; });
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        *major = gpu.model.capability_major;
        *minor = gpu.model.capability_minor;
        return NVML_SUCCESS;
      },
      major, minor);
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned int* numCores) {
  return tell(device, numCores, [](const Gpu& gpu) {
    return static_cast<unsigned>(gpu.model.multiprocessors) * gpu.board.cores_per_multiprocessor;
  });
}

nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned int* busWidth) {
  return tell(device, busWidth, [](const Gpu& gpu) { return gpu.board.memory_bus_bits; });
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return tell_pci(device, pci, PciVersion::v1);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return tell_pci(device, pci, PciVersion::v2);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return tell_pci(device, pci, PciVersion::v3);
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t* pci) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        const nvs::sim::PciAddress address = nvs::sim::gpu_pci(gpu.index);
        pci->domain = address.domain;
        pci->bus = address.bus;
        pci->device = address.device;
        pci->pciDeviceId = gpu.board.pci_device_id;
        pci->pciSubSystemId = gpu.board.pci_subsystem_id;
        pci->baseClass = 3;  // a display controller ...
        pci->subClass = 2;   // ... that only computes
        print_long_pci(address, pci->busId);
        return NVML_SUCCESS;
      },
      pci);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int* currLinkGen) {
  return tell(device, currLinkGen, [](const Gpu& gpu) { return gpu.board.pcie_generation; });
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int* maxLinkGen) {
  return nvmlDeviceGetCurrPcieLinkGeneration(device, maxLinkGen);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int* currLinkWidth) {
  return tell(device, currLinkWidth, [](const Gpu&) { return 16; });
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int* maxLinkWidth) {
  return nvmlDeviceGetCurrPcieLinkWidth(device, maxLinkWidth);
}
