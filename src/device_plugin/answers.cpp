// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/answers.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <unistd.h>

namespace nvs::plugin {

using Guard = std::lock_guard<std::mutex>;

namespace {

// Those whose slots nobody has by now.
void add_missing(std::vector<SlotHolder>& holders, const std::vector<SlotHolder>& before) {
  std::set<std::string> slots;
  for (const SlotHolder& holder : holders) slots.insert(holder.slot);
  for (const SlotHolder& holder : before) {
    if (!slots.contains(holder.slot)) holders.push_back(holder);
  }
  std::sort(holders.begin(), holders.end());
}

// What part of each GPU's memory containers have asked for, as of the last list: Allocate does not
// tell for which container it is. `available` is what the kubelet says is free of a resource.
std::vector<double> promised_memory(const std::vector<SlotHolder>& holders, const Offer& offer,
                                    const std::string& resource,
                                    const std::vector<std::string>& available) {
  const std::set<std::string> free(available.begin(), available.end());
  const std::vector<OfferedGpu>& gpus = offer.inventory.gpus;
  std::vector<double> promised(gpus.size());
  // A container's limit is of each GPU, however many slots of it the container has.
  std::set<std::tuple<std::string, std::string, std::string, std::string>> counted;
  for (const SlotHolder& holder : holders) {
    const auto device = parse_device_id(holder.slot);
    if (!device || (holder.resource == resource && free.contains(holder.slot))) continue;
    const auto gpu = std::find_if(gpus.begin(), gpus.end(),
                                  [&](const OfferedGpu& one) { return one.uuid == device->uuid; });
    if (gpu == gpus.end() || gpu->memory_bytes == 0) continue;
    if (!counted.emplace(holder.space, holder.pod, holder.container, gpu->uuid).second) continue;
    promised[static_cast<std::size_t>(gpu - gpus.begin())] +=
        static_cast<double>(holder.memory_units) *
        static_cast<double>(offer.config.memory.unit_bytes) /
        static_cast<double>(gpu->memory_bytes);
  }
  return promised;
}

}  // namespace

const OfferedResource* Offer::find(const std::string& resource) const {
  for (const OfferedResource& one : inventory.resources) {
    if (one.name == resource) return &one;
  }
  return nullptr;
}

bool Answers::is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void Answers::set_offer(std::shared_ptr<const Offer> offer) {
  const Guard guard(lock_);
  offer_ = std::move(offer);
}

std::shared_ptr<const Offer> Answers::offer() const {
  const Guard guard(lock_);
  return offer_;
}

void Answers::set_unhealthy(std::set<std::string> gpus) {
  const Guard guard(lock_);
  unhealthy_ = std::move(gpus);
}

void Answers::set_withheld(bool is_withheld) {
  const Guard guard(lock_);
  is_withheld_ = is_withheld;
}

void Answers::set_loads(std::map<std::string, double> loads) {
  const Guard guard(lock_);
  loads_ = std::move(loads);
}

void Answers::kubelet_came(Instant now) {
  const Guard guard(lock_);
  usage_.kubelet_came(now);
}

bool Answers::listed(Instant asked_at, ListedPods pods) {
  const Guard guard(lock_);
  const bool is_whole = !usage_.is_doubtful(asked_at);
  if (!is_whole) add_missing(pods.holders, slots_.holders);
  usage_.listed(asked_at, std::move(pods.devices));
  const bool is_new = pods.holders != slots_.holders || (is_whole && !slots_.is_whole);
  slots_ = {.holders = std::move(pods.holders), .is_whole = is_whole};
  return is_new;
}

std::vector<SlotHolder> Answers::holders() const {
  const Guard guard(lock_);
  return slots_.holders;
}

SlotList Answers::slots() const {
  const Guard guard(lock_);
  return slots_;
}

bool Answers::awaits_list(Instant now) const {
  const Guard guard(lock_);
  return usage_.awaits_list(now);
}

bool Answers::all_slots_are_ours(Instant now) const {
  const Guard guard(lock_);
  return usage_.all_are_ours(now);
}

bool Answers::prefers(const std::string& resource) const {
  const Guard guard(lock_);
  const OfferedResource* found = offer_->find(resource);
  return found != nullptr && found->kind == DeviceKind::slot;
}

std::vector<ListedDevice> Answers::devices(const std::string& resource) const {
  const Guard guard(lock_);
  std::vector<ListedDevice> devices;
  const OfferedResource* found = offer_->find(resource);
  if (found == nullptr) return devices;
  for (const OfferedDevice& device : found->devices) {
    const OfferedGpu& gpu = offer_->inventory.gpus[device.gpu];
    devices.push_back({.id = device.id,
                       .is_healthy = !is_withheld_ && !unhealthy_.contains(gpu.parent_uuid) &&
                                     !unhealthy_.contains(gpu.uuid),
                       .numa_node = gpu.numa_node});
  }
  return devices;
}

Parsed<std::vector<std::string>> Answers::prefer(Instant now, const std::string& resource,
                                                 const PreferredRequest& request) const {
  const Guard guard(lock_);
  const OfferedResource* found = offer_->find(resource);
  if (found == nullptr) return tl::unexpected(resource + " is not offered any more");
  const auto counts = usage_.counts(now, offer_->inventory, resource, request.available);
  const auto promised = promised_memory(slots_.holders, *offer_, resource, request.available);
  std::vector<GpuUse> gpus;
  for (std::size_t gpu = 0; gpu < counts.size(); ++gpu) {
    const auto load = loads_.find(offer_->inventory.gpus[gpu].uuid);
    gpus.push_back({.pods = counts[gpu],
                    .promised = promised[gpu],
                    .load = load == loads_.end() ? 0 : load->second});
  }
  return plugin::prefer(request, *found, gpus, offer_->config.spread);
}

tl::expected<ContainerAnswer, AllocateError> Answers::allocate(
    Instant now, const std::string& resource, const std::vector<std::string>& ids) {
  const Guard guard(lock_);
  const OfferedResource* found = offer_->find(resource);
  if (found == nullptr) {
    return tl::unexpected(
        AllocateError{AllocateError::Kind::unknown_device, resource + " is not offered any more"});
  }
  auto answer = plugin::allocate(ids, *found, offer_->inventory, offer_->config, offer_->host);
  if (!answer) return answer;
  std::erase_if(answer->devices, [this](const DeviceFile& file) {
    return file.is_optional && !has_file_(file.container_path);
  });
  usage_.allocated(now, resource, ids);
  return answer;
}

}  // namespace nvs::plugin
