// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/usage.h"

#include <algorithm>

namespace nvs::plugin {

void Usage::listed(Instant asked_at, std::set<PodDevice> devices) {
  if (is_doubtful(asked_at)) devices.insert(listed_.begin(), listed_.end());
  std::erase_if(allocated_, [&](const auto& entry) {
    if (devices.contains(entry.first)) return true;
    const bool is_missing = entry.second + kListGrace < asked_at;
    if (is_missing) unlisted_.insert(entry.first);
    return is_missing;
  });
  std::erase_if(unlisted_, [&](const PodDevice& device) { return devices.contains(device); });
  // Whoever gets a slot after this one gave it back may have it from another plugin.
  std::erase_if(ours_, [&](const PodDevice& device) {
    return !devices.contains(device) && !allocated_.contains(device);
  });
  listed_ = std::move(devices);
  listed_at_ = asked_at;
}

void Usage::allocated(Instant now, const std::string& resource,
                      const std::vector<std::string>& ids) {
  for (const std::string& id : ids) {
    allocated_[{resource, id}] = now;
    unlisted_.erase({resource, id});
    ours_.insert({resource, id});
  }
}

bool Usage::awaits_list(Instant now) const {
  return std::any_of(allocated_.begin(), allocated_.end(),
                     [now](const auto& entry) { return now <= entry.second + kListGrace; });
}

bool Usage::is_known(Instant now) const { return listed_at_ && now - *listed_at_ <= kListStale; }

std::vector<unsigned> Usage::counts(Instant now, const Inventory& inventory,
                                    const std::string& resource,
                                    const std::vector<std::string>& available) const {
  const std::set<std::string> free(available.begin(), available.end());
  std::map<std::string, std::size_t> gpus;
  for (std::size_t gpu = 0; gpu < inventory.gpus.size(); ++gpu) {
    gpus[inventory.gpus[gpu].uuid] = gpu;
  }
  std::set<PodDevice> used;
  if (!is_known(now) || is_doubtful(now)) {
    for (const OfferedResource& one : inventory.resources) {
      if (one.name != resource) continue;
      for (const OfferedDevice& device : one.devices) used.insert({resource, device.id});
    }
  }
  if (is_known(now)) {
    // Those of earlier settings too, whose ids nobody offers any more: their pods still run.
    used.insert(listed_.begin(), listed_.end());
    for (const auto& [device, at] : allocated_) used.insert(device);
    // Of other resources the kubelet does not say now what is free.
    for (const PodDevice& device : unlisted_) {
      if (device.resource == resource) used.insert(device);
    }
  }
  std::vector<unsigned> counts(inventory.gpus.size());
  for (const PodDevice& one : used) {
    const auto device = parse_device_id(one.id);
    if (!device || device->kind != DeviceKind::slot) continue;
    if (one.resource == resource && free.contains(one.id)) continue;
    const auto gpu = gpus.find(device->uuid);
    if (gpu != gpus.end()) ++counts[gpu->second];
  }
  return counts;
}

bool Usage::all_are_ours(Instant now) const {
  if (!is_known(now)) return false;
  return std::all_of(listed_.begin(), listed_.end(), [this](const PodDevice& one) {
    const auto device = parse_device_id(one.id);
    return !device || device->kind != DeviceKind::slot || ours_.contains(one);
  });
}

}  // namespace nvs::plugin
