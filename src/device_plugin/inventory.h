// SPDX-License-Identifier: Apache-2.0
// What the node offers: its GPUs, cut into the virtual devices that the settings ask for. It is
// made once for all calls of the kubelet, which are answered from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device_plugin/config.h"
#include "device_plugin/device_id.h"
#include "nvml/nvml.h"

namespace nvs::plugin {

// A message to the kubelet is 4 MiB at most, and a device takes up to some 90 bytes of it.
inline constexpr std::size_t kDevicesMax = 32'768;
inline constexpr unsigned kCoresPerGpu = 100;

struct OfferedGpu {
  std::string uuid;
  std::string parent_uuid;  // of the GPU that it is an instance of, or its own
  std::string mig_profile;  // "1g.10gb"; empty: it is a whole GPU
  std::uint64_t memory_bytes = 0;
  std::optional<int> numa_node;
  std::string index = {};  // NVML's number of it, "2" or "2:1", whatever else is offered
  std::optional<InstanceIds> instance = {};    // of a MIG instance, where they are known
  std::vector<std::string> device_files = {};  // its own ones in /dev; none if they are not known
};

struct OfferedDevice {
  std::string id;
  std::size_t gpu = 0;     // its place in Inventory::gpus
  bool is_shared = false;  // it is one of several of that GPU
};

// One name under which pods can ask, and a registration of its own with the kubelet.
struct OfferedResource {
  std::string name;
  DeviceKind kind = DeviceKind::slot;
  std::vector<OfferedDevice> devices;
  const OfferedDevice* find(const std::string& id) const;
};

struct Inventory {
  std::vector<OfferedGpu> gpus;
  std::vector<OfferedResource> resources;
  std::vector<std::string> remarks;  // for the log: what of the settings fits no GPU
};

// The error is a sentence: the settings make more devices than a kubelet takes.
Parsed<Inventory> make_inventory(std::vector<OfferedGpu> gpus, const Config& config);

// "NVIDIA H100 MIG 1g.10gb": "1g.10gb". Empty if the name is of another form.
std::string mig_profile_of(const std::string& gpu_name);

}  // namespace nvs::plugin
