// SPDX-License-Identifier: Apache-2.0
// Which GPUs this node has, and how programs will name them. NVML of any driver since 418 is good
// enough; a machine without NVML gets an error in words, and the daemon learns GPUs from clients.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "nvml/nvml.h"

namespace nvs {

using UuidBytes = std::array<std::uint8_t, 16>;

struct Gpu {
  std::string uuid;  // "GPU-…" or "MIG-…"
  UuidBytes uuid_bytes{};
  std::string name;
  // What tenants can have together, without what the driver keeps for itself; 0 if NVML does not
  // know (GPUs that use the host's memory).
  std::uint64_t memory_bytes = 0;
  bool is_mig = false;
  PciAddress pci = {};
  // As NVML and nvidia-smi number it: "2", or "2:1" for an instance. GPUs that are out of reach
  // keep their numbers, so this is not its place in a list.
  std::string index = {};
  std::optional<unsigned> minor_number = {};  // of /dev/nvidiaN, its own or its parent's
  std::optional<InstanceIds> instance = {};   // of a MIG instance
  // The GPU itself, or the one that it is an instance of: what breaks there breaks here.
  std::string parent_uuid = {};
  // An MPS server works on this GPU: it merges tenants' work, so that windows mean nothing there.
  bool mps_active = false;
};

// The GPUs in the order of their PCI addresses, as nvidia-smi numbers them; a GPU in MIG mode is
// replaced by its instances. `remarks` gets a line for each thing an administrator should know:
// GPUs that were left out and why, and details of the error if there is one.
// The library is that of nvml_path().
Result<std::vector<Gpu>> find_gpus(std::string& remarks);
// The same of a library that is open already.
Result<std::vector<Gpu>> find_gpus(const Nvml& nvml, std::string& remarks);

// "GPU-01234567-89ab-…" or "MIG-…" as bytes; nothing if the text is not of that form.
std::optional<UuidBytes> parse_uuid(std::string_view text);
// The other way; `kind` is "GPU" or "MIG".
std::string uuid_text(std::string_view kind, const UuidBytes& bytes);

}  // namespace nvs
