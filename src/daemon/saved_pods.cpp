// SPDX-License-Identifier: Apache-2.0
#include "daemon/saved_pods.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "daemon/state_json.h"

namespace nvs::daemon {
namespace {

using nlohmann::json;

std::string text_or_empty(const json& saved) {
  return saved.is_string() ? saved.get<std::string>() : std::string();
}

PodName name_of(const json& saved) {
  return {text_or_empty(member(saved, "namespace")), text_or_empty(member(saved, "pod"))};
}

Result<SavedPod> pod_of(const std::string& uid, const json& saved) {
  SavedPod pod;
  pod.name = name_of(saved);
  pod.memory = NVS_TRY(limit_of(member(saved, "memory"), parse_memory_word));
  pod.cores = NVS_TRY(limit_of(member(saved, "cores"), parse_cores_word));
  const json& static_uid = member(saved, "static_uid");
  pod.static_uid = text_or_empty(static_uid);
  if (!can_be_saved(uid, pod) || static_uid.is_null() != pod.static_uid.empty())
    return tl::unexpected(broken("a name is missing, or too long"));
  return pod;
}

Result<SlotUse> slot_of(const json& saved) {
  SlotUse use;
  use.slot = text_or_empty(member(saved, "slot"));
  use.pod = name_of(saved);
  use.container = text_or_empty(member(saved, "container"));
  use.memory = NVS_TRY(limit_of(member(saved, "memory"), parse_memory_word));
  use.cores = NVS_TRY(limit_of(member(saved, "cores"), parse_cores_word));
  if (!can_be_saved(use)) return tl::unexpected(broken("a name is missing, or a limit is none"));
  return use;
}

void add_remark(std::string& remark, const std::string& line) {
  if (!remark.empty()) remark += "\n";
  remark += "state.json: " + line;
}

// How many of one part were left out, and why.
struct LeftOut {
  std::size_t count = 0;
  const char* reason = "";
  void add(const Error& error) {
    ++count;
    reason = error.what;
  }
  void tell(const char* what, std::string& remark) const {
    if (count == 0) return;
    add_remark(remark, std::string(what) + " that are not understood are left out: " +
                           std::to_string(count) + ", the last because " + reason);
  }
};

}  // namespace

SavedPods read_pods(const json& saved, std::string& remark) {
  const bool is_object = saved.is_object() && saved.size() <= kSavedPodsMax;
  if (!is_object && !saved.is_null()) {
    add_remark(remark, "its pods are no object, or too many: all are left out");
    return {};
  }
  SavedPods pods;
  LeftOut left_out;
  for (const auto& [uid, described] : saved.items()) {
    Result<SavedPod> pod = pod_of(uid, described);
    if (pod) {
      pods.emplace(uid, std::move(*pod));
    } else {
      left_out.add(pod.error());
    }
  }
  left_out.tell("pods", remark);
  return pods;
}

SavedSlots read_slots(const json& saved, std::string& remark) {
  const bool is_list = saved.is_array() && saved.size() <= kSavedSlotsMax;
  if (!is_list && !saved.is_null()) {
    add_remark(remark, "its slots are no list, or too many: all are left out");
    return {};
  }
  SavedSlots slots;
  LeftOut left_out;
  for (const json& described : saved) {
    Result<SlotUse> use = slot_of(described);
    if (use) {
      slots.push_back(std::move(*use));
    } else {
      left_out.add(use.error());
    }
  }
  left_out.tell("slots", remark);
  return slots;
}

void write_pods(JsonWriter& out, const SavedPods& pods) {
  if (pods.empty()) return;
  out.key("pods").begin_object();
  for (const auto& [uid, pod] : pods) {
    out.key(uid).begin_object();
    out.key("namespace").text(pod.name.space).key("pod").text(pod.name.name);
    write_limit_words(out, pod.memory, pod.cores);
    if (!pod.static_uid.empty()) out.key("static_uid").text(pod.static_uid);
    out.end_object();
  }
  out.end_object();
}

void write_slots(JsonWriter& out, const SavedSlots& slots) {
  if (slots.empty()) return;
  out.key("slots").begin_array();
  for (const SlotUse& use : slots) {
    out.begin_object().key("slot").text(use.slot);
    out.key("namespace").text(use.pod.space).key("pod").text(use.pod.name);
    out.key("container").text(use.container);
    write_limit_words(out, use.memory, use.cores);
    out.end_object();
  }
  out.end_array();
}

}  // namespace nvs::daemon
