// SPDX-License-Identifier: Apache-2.0
#include "daemon/pods.h"

#include <array>
#include <utility>

#include "kube/pod_limits.h"

namespace nvs::daemon {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kStandingWords = {"outside", "verified", "unverified"};

PodIdentity unverified(const char* reason) {
  return {Standing::unverified, nullptr, nullptr, reason};
}

}  // namespace

std::string_view standing_word(Standing standing) {
  return kStandingWords.at(static_cast<std::size_t>(standing));
}

const KnownPod& Pods::set_pod(const kube::Pod& pod) {
  KnownPod& known = pods_[pod.uid];
  known.name = {pod.space, pod.name};
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

void Pods::use_slot(SlotUse use) {
  if (slots_.size() == kSlotsMax && !slots_.contains(use.slot)) return;
  std::string slot = use.slot;
  slots_.insert_or_assign(std::move(slot), Slot{std::move(use), list_});
}

void Pods::end_slots() {
  std::erase_if(slots_, [this](const auto& entry) { return entry.second.list != list_; });
}

PodIdentity Pods::identify(const std::string& uid, const std::string& slot) const {
  if (!asked_ || uid.empty()) return {};
  const auto pod = pods_.find(uid);
  if (pod == pods_.end()) return unverified("the API server has not told of its pod");
  if (slot.empty()) return unverified("it does not say which slot it has (NVSHARE_SLOT)");
  const auto held = slots_.find(slot);
  if (held == slots_.end()) return unverified("the kubelet has not told of its slot");
  const SlotUse& use = held->second.use;
  if (use.pod != pod->second.name) return unverified("its slot is another pod's");
  return {Standing::verified, &pod->second, &use, ""};
}

}  // namespace nvs::daemon
