// SPDX-License-Identifier: Apache-2.0
#include "daemon/pods.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kube/pod_limits.h"

namespace nvs::daemon {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kStandingWords = {"outside", "verified", "unverified"};

void lower(MemoryWord& lowest, const MemoryWord& word) {
  if (word.is_unset()) return;
  lowest = lowest.is_unset() ? word : MemoryWord::of(tightest(lowest.value, word.value));
}
void lower(CoresWord& lowest, const CoresWord& word) {
  if (word.is_unset()) return;
  lowest = lowest.is_unset() ? word : CoresWord::of(std::min(lowest.value, word.value));
}

}  // namespace

std::string_view standing_word(Standing standing) {
  return kStandingWords.at(static_cast<std::size_t>(standing));
}

bool can_be_saved(const std::string& uid, const SavedPod& pod) {
  return is_pod_name(uid) && is_pod_name(pod.name.space) && is_pod_name(pod.name.name) &&
         (pod.static_uid.empty() || is_pod_name(pod.static_uid));
}

bool can_be_saved(const SlotUse& use) {
  const bool has_names = is_pod_name(use.slot) && is_pod_name(use.pod.space) &&
                         is_pod_name(use.pod.name) && is_pod_name(use.container);
  return has_names && use.memory.kind != MemoryWord::Kind::none &&
         use.cores.kind != CoresWord::Kind::none;
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

void Pods::restore(const SavedPods& saved, const SavedSlots& slots) {
  for (const auto& [uid, pod] : saved) pods_[uid] = KnownPod{pod, {}};
  for (const SlotUse& use : slots) use_slot(use);
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

SavedSlots Pods::saved_slots() const {
  SavedSlots saved;
  for (const auto& [key, slot] : slots_) {
    if (saved.size() < kSavedSlotsMax && can_be_saved(slot.use)) saved.push_back(slot.use);
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
  slots_of_pods_.emplace(use.pod, use.slot);
  slots_.insert_or_assign(std::move(key), Slot{std::move(use), list_});
}

template <class Condition>
void Pods::erase_slots(Condition condition) {
  std::erase_if(slots_, [&](const auto& entry) {
    const auto& [slot, pod] = entry.first;
    if (!condition(slot, entry.second)) return false;
    slots_of_pods_.erase({pod, slot});
    return true;
  });
}

void Pods::free_slot(const std::string& freed) {
  erase_slots([&freed](const std::string& slot, const Slot&) { return slot == freed; });
}

void Pods::end_slots() {
  erase_slots([this](const std::string&, const Slot& slot) { return slot.list != list_; });
}

std::vector<const KnownPod*> Pods::pods_of(const std::string& uid) const {
  if (const KnownPod* pod = find(uid)) return {pod};
  std::vector<const KnownPod*> pictures;
  for (const auto& [other, pod] : pods_) {
    if (pod.static_uid == uid) pictures.push_back(&pod);
  }
  return pictures;
}

void Pods::lower_to_slots_of(const PodName& pod, PodIdentity& identity) const {
  auto held = slots_of_pods_.lower_bound({pod, std::string()});
  for (; held != slots_of_pods_.end() && held->first == pod; ++held) {
    const SlotUse& use = slots_.at({held->second, pod}).use;
    lower(identity.memory, use.memory);
    lower(identity.cores, use.cores);
  }
}

PodIdentity Pods::unverified(const std::string& uid, const char* reason) const {
  // A picture may be made up, and only the slot proves it: until then its annotations lower nothing
  // either. Slots do: the name of one that is made up has none.
  PodIdentity identity{Standing::unverified, find(uid), nullptr, reason};
  for (const KnownPod* named : pods_of(uid)) lower_to_slots_of(named->name, identity);
  return identity;
}

PodIdentity Pods::identify(const std::string& uid, const std::string& slot) const {
  if (!asked_ || uid.empty()) return {};
  const std::vector<const KnownPod*> pods = pods_of(uid);
  for (const KnownPod* named : pods) {
    const auto held = slots_.find({slot, named->name});
    if (held == slots_.end()) continue;
    const SlotUse& use = held->second.use;
    return {Standing::verified, named, &use, "", use.memory, use.cores};
  }
  if (pods.empty()) return unverified(uid, "the API server has not told of its pod");
  if (slot.empty()) return unverified(uid, "it does not say which slot it has (NVSHARE_SLOT)");
  const auto any = slots_.lower_bound({slot, PodName{}});
  const bool is_anothers = any != slots_.end() && any->first.first == slot;
  return unverified(
      uid, is_anothers ? "its slot is another pod's" : "the kubelet has not told of its slot");
}

}  // namespace nvs::daemon
