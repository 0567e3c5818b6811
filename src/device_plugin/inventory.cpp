// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/inventory.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "device_plugin/resource_name.h"

namespace nvs::plugin {
namespace {

bool is_offered_by(const SharedResource& resource, const OfferedGpu& gpu, MigNames mig_names) {
  const bool has_own_name = mig_names == MigNames::by_profile && !gpu.mig_profile.empty();
  return resource.mig_profile == (has_own_name ? gpu.mig_profile : "");
}

class InventoryMaker {
 public:
  InventoryMaker(std::vector<OfferedGpu> gpus, const Config& config) : config_(config) {
    inventory_.gpus = std::move(gpus);
  }

  Parsed<Inventory> make() {
    add_slots();
    if (config_.offers_the_rest) add_the_rest();
    if (config_.passes_device_files) remark_missing_files();
    if (config_.memory.is_offered) add_memory();
    if (config_.cores.is_offered) add_cores();
    for (const OfferedResource& resource : inventory_.resources) {
      if (resource.devices.size() > kDevicesMax) {
        return tl::unexpected(resource.name + " would be " +
                              std::to_string(resource.devices.size()) +
                              " devices, and a kubelet takes " + std::to_string(kDevicesMax) +
                              ": make the unit larger, or the replicas fewer");
      }
    }
    return std::move(inventory_);
  }

 private:
  OfferedResource& resource_of(const std::string& name, DeviceKind kind) {
    for (OfferedResource& resource : inventory_.resources) {
      if (resource.name == name && resource.kind == kind) return resource;
    }
    inventory_.resources.push_back({.name = name, .kind = kind, .devices = {}});
    return inventory_.resources.back();
  }

  void add(OfferedResource& resource, std::size_t gpu, std::uint64_t count) {
    // One more than allowed is enough for the complaint.
    for (unsigned number = 0; number < std::min<std::uint64_t>(count, kDevicesMax + 1); ++number) {
      std::string id = text_of({inventory_.gpus[gpu].uuid, resource.kind, number});
      NVS_ASSERT(id.size() <= kNameMax);
      resource.devices.push_back({.id = std::move(id), .gpu = gpu, .is_shared = count > 1});
    }
  }

  void add_slots() {
    is_taken_.assign(inventory_.gpus.size(), false);
    for (const SharedResource& shared : config_.resources) {
      OfferedResource& resource = resource_of(shared.name, DeviceKind::slot);
      for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) {
        if (!is_offered_by(shared, inventory_.gpus[gpu], config_.mig_names)) continue;
        add(resource, gpu, shared.replicas);
        is_taken_[gpu] = true;
      }
      if (resource.devices.empty()) {
        inventory_.remarks.push_back("no GPU of this node is offered as " + shared.name);
      }
    }
  }

  // As NVIDIA's plugin does: whole, under the name of their kind.
  void add_the_rest() {
    for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) {
      if (is_taken_[gpu]) continue;
      const std::string& profile = inventory_.gpus[gpu].mig_profile;
      const bool is_by_profile = config_.mig_names == MigNames::by_profile && !profile.empty();
      const std::string name = is_by_profile ? "nvidia.com/mig-" + profile : kNvidiaResource;
      if (const std::string wrong = resource_name_error(name); !wrong.empty()) {
        inventory_.remarks.push_back(inventory_.gpus[gpu].uuid + " is not offered: " + wrong);
        continue;
      }
      add(resource_of(name, DeviceKind::slot), gpu, 1);
    }
  }

  void remark_missing_files() {
    for (const OfferedGpu& gpu : inventory_.gpus) {
      if (!gpu.device_files.empty()) continue;
      inventory_.remarks.push_back(gpu.uuid + ": its device files are not known, and not passed");
    }
  }

  void add_memory() {
    OfferedResource& resource = resource_of(config_.memory.name, DeviceKind::memory);
    for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) {
      const auto bytes = static_cast<double>(inventory_.gpus[gpu].memory_bytes);
      // What is promised is less than a unit short of it, never more.
      const double units =
          std::floor(bytes * config_.memory.ratio / static_cast<double>(config_.memory.unit_bytes));
      if (units < 1) {
        inventory_.remarks.push_back(inventory_.gpus[gpu].uuid + " has no memory to offer as " +
                                     config_.memory.name);
      }
      add(resource, gpu, static_cast<std::uint64_t>(std::min(units, 1e9)));
    }
  }

  void add_cores() {
    OfferedResource& resource = resource_of(config_.cores.name, DeviceKind::core);
    for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) add(resource, gpu, kCoresPerGpu);
  }

  const Config& config_;
  Inventory inventory_;
  std::vector<bool> is_taken_;  // by GPU
};

}  // namespace

const OfferedDevice* OfferedResource::find(const std::string& id) const {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&id](const OfferedDevice& device) { return device.id == id; });
  return found == devices.end() ? nullptr : &*found;
}

Parsed<Inventory> make_inventory(std::vector<OfferedGpu> gpus, const Config& config) {
  return InventoryMaker(std::move(gpus), config).make();
}

std::string mig_profile_of(const std::string& gpu_name) {
  const std::size_t at = gpu_name.rfind("MIG ");
  if (at == std::string::npos) return "";
  std::string profile = gpu_name.substr(at + 4);
  // As NVIDIA's plugin writes them: no resource may have a plus in its name.
  std::replace(profile.begin(), profile.end(), '+', '.');
  return profile;
}

}  // namespace nvs::plugin
