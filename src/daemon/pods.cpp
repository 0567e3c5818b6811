// SPDX-License-Identifier: Apache-2.0
#include "daemon/pods.h"

#include <array>
#include <utility>

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

void Pods::begin_slots() { ++list_; }

void Pods::use_slot(SlotUse use) {
  const auto found = slots_.find(use.slot);
  if (found == slots_.end() && slots_.size() == kSlotsMax) return;
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
  const auto use = slots_.find(slot);
  if (use == slots_.end()) return unverified("the kubelet has not told of its slot");
  if (use->second.use.pod != pod->second.name) return unverified("its slot is another pod's");
  return {Standing::verified, &pod->second, &use->second.use, ""};
}

}  // namespace nvs::daemon
