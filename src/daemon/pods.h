// SPDX-License-Identifier: Apache-2.0
// Which pod a tenant belongs to, and what its pod's annotations say of limits (ADR-0025). Nobody is
// believed alone: the API server knows the name of the pod whose uid is in the tenant's cgroup, and
// the kubelet knows the name of the pod that has the slot which the tenant says it was given. Both
// must be the same.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limit_word.h"
#include "kube/limits.h"
#include "kube/pod.h"

namespace nvs::daemon {

// No uid, and no name of Kubernetes, is longer.
inline constexpr std::size_t kPodNameMax = 253;
inline bool is_pod_name(std::string_view text) {
  return !text.empty() && text.size() <= kPodNameMax;
}

struct PodName {
  std::string space;  // its namespace
  std::string name;
  auto operator<=>(const PodName&) const = default;
};

// What of a pod must outlive the daemon: who it is, and what its annotations said.
struct SavedPod {
  PodName name;
  // An annotation that is not understood leaves the word that was there before.
  MemoryWord memory = {};
  CoresWord cores = {};
  std::string static_uid = {};  // kube::Pod::static_uid
  bool operator==(const SavedPod&) const = default;
};
using SavedPods = std::map<std::string, SavedPod>;  // by uid
// All that the watch takes, and as many that are deleted and still run.
inline constexpr std::size_t kSavedPodsMax = 2 * kube::kPodsMax;
// Else it is neither written nor read: the API server may say what it likes.
bool can_be_saved(const std::string& uid, const SavedPod& pod);

// A pod of this node as the API server describes it.
struct KnownPod : SavedPod {
  std::vector<std::string> errors;  // sentences about annotations that are not understood
};

// Who has a slot of a GPU, as the kubelet tells the device plugin.
struct SlotUse {
  std::string slot;
  PodName pod;
  std::string container;
  // What the container asked for of GPU memory and time, as resources of their own.
  MemoryWord memory = {};
  CoresWord cores = {};
  bool operator==(const SlotUse&) const = default;
};
// GPUs of a node times what each may be offered as, with room to spare.
inline constexpr std::size_t kSlotsMax = 16384;
// Those of a node on which each of 32 GPUs is offered 128 times. What is beyond is not kept.
inline constexpr std::size_t kSavedSlotsMax = 4096;
using SavedSlots = std::vector<SlotUse>;
// As of pods: else it is neither written nor read.
bool can_be_saved(const SlotUse& use);

enum class Standing : std::uint8_t {
  outside,     // it is in no pod, or nobody asks the API server
  verified,    // both know it, by the same name
  unverified,  // they do not agree, or one of them does not know it (yet)
};
std::string_view standing_word(Standing standing);

struct PodIdentity {
  Standing standing = Standing::outside;
  // That the uid leads to; of an unverified one too, but no picture (kube::Pod::static_uid).
  const KnownPod* pod = nullptr;
  const SlotUse* use = nullptr;  // of a verified one
  const char* reason = "";       // of an unverified one
  // What its container asked for as resources. Of an unverified one nobody knows which container of
  // its pod it is: what the one asked for that asked for least.
  MemoryWord memory = {};
  CoresWord cores = {};
};

class Pods {
 public:
  // From now on the API server is asked: whoever it does not know is unverified.
  void begin() { asked_ = true; }
  bool is_asked() const { return asked_; }

  const KnownPod& set_pod(const kube::Pod& pod);
  void remove_pod(const std::string& uid) { pods_.erase(uid); }
  // By the API server's uid; null if it is not known.
  const KnownPod* find(const std::string& uid) const;

  // What an earlier daemon knew is believed until the API server has told of all its pods, and the
  // plugin of all slots in use.
  void restore(const SavedPods& saved, const SavedSlots& slots);
  // Of pods that the next daemon will want to know: those with limits, or with slots.
  SavedPods saved() const;
  SavedSlots saved_slots() const;
  std::vector<std::string> uids() const;

  // The whole list of slots in use comes in pieces: what was not named again between begin_slots()
  // and end_slots() is in use no more. A single change needs neither.
  void begin_slots() { ++list_; }
  void use_slot(SlotUse use);
  void free_slot(const std::string& slot);
  void end_slots();

  // What it points to is valid until something is set.
  PodIdentity identify(const std::string& uid, const std::string& slot) const;
  // The same of one that is not believed, for this reason.
  PodIdentity unverified(const std::string& uid, const char* reason) const;

  std::size_t pod_count() const { return pods_.size(); }
  std::size_t slot_count() const { return slots_.size(); }

 private:
  struct Slot {
    SlotUse use;
    std::uint64_t list = 0;  // the number of the last whole list that named it
  };

  // Whom the uid of a cgroup may mean. Of a pod from a file there may be several pictures, all but
  // one of them made up.
  std::vector<const KnownPod*> pods_of(const std::string& uid) const;
  void lower_to_slots_of(const PodName& pod, PodIdentity& identity) const;
  template <class Condition>
  void erase_slots(Condition condition);

  bool asked_ = false;
  std::map<std::string, KnownPod> pods_;  // by the API server's uid
  // A slot may be two pods', where the plugin's settings gave its resource another name.
  std::map<std::pair<std::string, PodName>, Slot> slots_;
  std::set<std::pair<PodName, std::string>> slots_of_pods_;  // the same, to be found by the pod
  std::uint64_t list_ = 0;
};

}  // namespace nvs::daemon
