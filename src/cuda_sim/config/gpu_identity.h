// SPDX-License-Identifier: Apache-2.0
// Which GPU is which: CUDA and NVML must name a simulated card alike, in every process and on every
// run. So its UUID and its place on the PCI bus follow from the preset and the index alone.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace nvs::sim {

using Uuid = std::array<unsigned char, 16>;

struct PciAddress {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  bool operator==(const PciAddress&) const = default;
};

Uuid gpu_uuid(std::string_view preset, unsigned index);

/// As nvidia-smi prints it: GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.
std::string uuid_text(const Uuid& uuid);

PciAddress gpu_pci(unsigned index);

/// As cuDeviceGetPCIBusId prints it: 0000:10:00.0.
std::string pci_text(const PciAddress& address);

}  // namespace nvs::sim
