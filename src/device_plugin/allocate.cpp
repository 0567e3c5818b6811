// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/allocate.h"

#include <algorithm>

#include "base/byte_size.h"
#include "device_plugin/device_files.h"

namespace nvs::plugin {
namespace {

constexpr const char* kVisibleDevices = "NVIDIA_VISIBLE_DEVICES";
// The folder in which NVIDIA's runtime looks for names of GPUs where it does not trust the
// environment.
constexpr const char* kDeviceMounts = "/var/run/nvidia-container-devices";
constexpr const char* kNvidiaCdiKind = "nvidia.com/gpu=";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// The GPUs of some devices, each once, under the names that the container's runtime is to know.
std::vector<std::string> gpu_names(const std::vector<std::size_t>& gpus, const Inventory& inventory,
                                   DeviceNames names) {
  std::vector<std::string> found;
  for (const std::size_t gpu : gpus) {
    const OfferedGpu& offered = inventory.gpus[gpu];
    std::string name = names == DeviceNames::uuid ? offered.uuid : offered.index;
    if (std::find(found.begin(), found.end(), name) == found.end()) {
      found.push_back(std::move(name));
    }
  }
  return found;
}

void give_gpus(const std::vector<std::string>& names, const std::string& first_uuid,
               const Config& config, ContainerAnswer& answer) {
  std::vector<std::string> cdi_names;
  for (const std::string& name : names) cdi_names.push_back(kNvidiaCdiKind + name);
  for (const DeviceList list : config.device_lists) {
    switch (list) {
      case DeviceList::envvar:
        answer.envs[kVisibleDevices] = joined(names);
        break;
      case DeviceList::volume_mounts:
        answer.envs[kVisibleDevices] = kDeviceMounts;
        for (const std::string& name : names) {
          answer.mounts.push_back({std::string(kDeviceMounts) + "/" + name, "/dev/null"});
        }
        break;
      case DeviceList::cdi_annotations:
        // Of an index such as 1:2 no key can be made.
        answer.annotations[config.cdi_annotation_prefix + kCdiAnnotationName + first_uuid] =
            joined(cdi_names);
        break;
      case DeviceList::cdi_cri:
        answer.cdi_devices.insert(answer.cdi_devices.end(), cdi_names.begin(), cdi_names.end());
        break;
    }
  }
}

void give_device_files(const std::vector<std::size_t>& gpus, const Inventory& inventory,
                       const Config& config, ContainerAnswer& answer) {
  if (!gives_device_files(config)) return;
  std::string root = config.device_root;
  while (root.ends_with('/')) root.pop_back();
  const auto give = [&](const std::string& path, bool is_optional) {
    const DeviceFile file{path, root + path, is_optional};
    if (std::find(answer.devices.begin(), answer.devices.end(), file) == answer.devices.end()) {
      answer.devices.push_back(file);
    }
  };
  for (const char* path : kControlFiles) give(path, true);
  for (const std::size_t gpu : gpus) {
    for (const std::string& path : inventory.gpus[gpu].device_files) give(path, false);
  }
}

void give_library(const std::vector<std::string>& ids, const Config& config, const HostPaths& host,
                  ContainerAnswer& answer) {
  const Mount tenant{kContainerTenantFolder, host.tenant_folder};
  switch (config.injection) {
    case Injection::ld_so_preload: {
      const std::vector<Mount> mounts = library_mounts(host);
      answer.mounts.insert(answer.mounts.end(), mounts.begin(), mounts.end());
      break;
    }
    case Injection::env:
      answer.envs["LD_PRELOAD"] = kContainerLibrary;
      answer.mounts.push_back({kContainerLibrary, host.library});
      answer.mounts.push_back(tenant);
      break;
    case Injection::cdi_cri:
      for (const std::string& id : ids) {
        answer.cdi_devices.push_back(std::string(kCdiKind) + "=" + cdi_name(id));
      }
      break;
  }
}

tl::unexpected<AllocateError> refused(AllocateError::Kind kind, std::string text) {
  return tl::unexpected(AllocateError{kind, std::move(text)});
}

}  // namespace

bool gives_device_files(const Config& config) {
  const bool is_all_cdi =
      std::all_of(config.device_lists.begin(), config.device_lists.end(), [](DeviceList list) {
        return list == DeviceList::cdi_annotations || list == DeviceList::cdi_cri;
      });
  return config.passes_device_files && !is_all_cdi;
}

std::vector<Mount> library_mounts(const HostPaths& host) {
  return {{kContainerLibrary, host.library},
          {kContainerPreload, host.preload},
          {kContainerTenantFolder, host.tenant_folder}};
}

tl::expected<ContainerAnswer, AllocateError> allocate(const std::vector<std::string>& ids,
                                                      const OfferedResource& resource,
                                                      const Inventory& inventory,
                                                      const Config& config, const HostPaths& host) {
  std::vector<std::size_t> gpus;
  bool is_shared = false;
  for (const std::string& id : ids) {
    const OfferedDevice* device = resource.find(id);
    if (device == nullptr) {
      return refused(AllocateError::Kind::unknown_device,
                     "'" + id + "' is no device of " + resource.name);
    }
    gpus.push_back(device->gpu);
    is_shared = is_shared || device->is_shared;
  }
  if (ids.empty()) return refused(AllocateError::Kind::unknown_device, "no device is named");

  ContainerAnswer answer;
  if (resource.kind == DeviceKind::memory) {
    const MemoryAmount amount{.bytes = ids.size() * config.memory.unit_bytes, .percent = 0};
    answer.envs["NVSHARE_GPU_MEMORY_LIMIT"] = text_of(amount);
    return answer;
  }
  if (resource.kind == DeviceKind::core) {
    // The limit is of each GPU: whoever asks for more than one of them whole has them whole.
    answer.envs["NVSHARE_GPU_CORE_LIMIT"] =
        std::to_string(std::min<std::size_t>(ids.size(), kCoresPerGpu));
    return answer;
  }
  // As NVIDIA's plugin has it: whole GPUs may be as many as there are.
  if (config.fails_requests_greater_than_one && is_shared && ids.size() > 1) {
    return refused(AllocateError::Kind::too_many,
                   "a container asked for " + std::to_string(ids.size()) + " " + resource.name +
                       ", and these settings allow 1 (failRequestsGreaterThanOne): more of a "
                       "shared GPU is not more of its time");
  }
  answer.envs["NVSHARE_SLOT"] = joined(ids);
  give_gpus(gpu_names(gpus, inventory, config.device_names), inventory.gpus[gpus.front()].uuid,
            config, answer);
  give_device_files(gpus, inventory, config, answer);
  give_library(ids, config, host, answer);
  return answer;
}

}  // namespace nvs::plugin
