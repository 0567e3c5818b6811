// SPDX-License-Identifier: Apache-2.0
#include "daemon/pods.h"

#include <array>
#include <set>
#include <utility>

#include "kube/pod_limits.h"

namespace nvs::daemon {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kStandingWords = {"outside", "verified", "unverified"};

PodIdentity unverified(const KnownPod* pod, const char* reason) {
  return {Standing::unverified, pod, nullptr, reason};
}

}  // namespace

std::string_view standing_word(Standing standing) {
  return kStandingWords.at(static_cast<std::size_t>(standing));
}

bool can_be_saved(const std::string& uid, const SavedPod& pod) {
  return is_pod_name(uid) && is_pod_name(pod.name.space) && is_pod_name(pod.name.name) &&
         (pod.static_uid.empty() || is_pod_name(pod.static_uid));
}

const KnownPod& Pods::set_pod(const kube::Pod& pod) {
  KnownPod& known = pods_[pod.uid];
  known.name = {pod.space, pod.name};
  known.static_uid = pod.static_uid;
  known.errors.clear();
  const kube::PodLimits limits = kube::limits_of(pod);
  const auto take = [&known](auto& word, const auto& said) {
    if (said) {
      word = *said;
    } else {
      known.errors.push_back(said.error());
    }
  };
  take(known.memory, limits.memory);
  take(known.cores, limits.cores);
  return known;
}

const KnownPod* Pods::find(const std::string& uid) const {
  const auto found = pods_.find(uid);
  return found != pods_.end() ? &found->second : nullptr;
}

void Pods::restore(const SavedPods& saved) {
  for (const auto& [uid, pod] : saved) pods_[uid] = KnownPod{pod, {}};
}

SavedPods Pods::saved() const {
  std::set<PodName> with_slots;
  for (const auto& [key, slot] : slots_) with_slots.insert(key.second);
  SavedPods saved;
  for (const auto& [uid, pod] : pods_) {
    const bool is_ours =
        !pod.memory.is_unset() || !pod.cores.is_unset() || with_slots.contains(pod.name);
    if (is_ours && can_be_saved(uid, pod)) saved.emplace(uid, pod);
  }
  return saved;
}

std::vector<std::string> Pods::uids() const {
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : pods_) uids.push_back(uid);
  return uids;
}

void Pods::use_slot(SlotUse use) {
  std::pair<std::string, PodName> key{use.slot, use.pod};
  if (slots_.size() == kSlotsMax && !slots_.contains(key)) return;
  slots_.insert_or_assign(std::move(key), Slot{std::move(use), list_});
}

void Pods::free_slot(const std::string& slot) {
  std::erase_if(slots_, [&slot](const auto& entry) { return entry.first.first == slot; });
}

void Pods::end_slots() {
  std::erase_if(slots_, [this](const auto& entry) { return entry.second.list != list_; });
}

std::vector<const KnownPod*> Pods::pods_of(const std::string& uid) const {
  if (const KnownPod* pod = find(uid)) return {pod};
  std::vector<const KnownPod*> pictures;
  for (const auto& [other, pod] : pods_) {
    if (pod.static_uid == uid) pictures.push_back(&pod);
  }
  return pictures;
}

PodIdentity Pods::identify(const std::string& uid, const std::string& slot) const {
  if (!asked_ || uid.empty()) return {};
  const std::vector<const KnownPod*> pods = pods_of(uid);
  if (pods.empty()) return unverified(nullptr, "the API server has not told of its pod");
  // A picture may be made up, and only the slot proves it: until then it lowers nothing either.
  const KnownPod* pod = find(uid);
  if (slot.empty()) return unverified(pod, "it does not say which slot it has (NVSHARE_SLOT)");
  for (const KnownPod* named : pods) {
    const auto held = slots_.find({slot, named->name});
    if (held != slots_.end()) return {Standing::verified, named, &held->second.use, ""};
  }
  const auto any = slots_.lower_bound({slot, PodName{}});
  const bool is_anothers = any != slots_.end() && any->first.first == slot;
  return unverified(
      pod, is_anothers ? "its slot is another pod's" : "the kubelet has not told of its slot");
}

}  // namespace nvs::daemon
