// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin_slots.h"

#include <nlohmann/json.hpp>

#include "base/byte_size.h"
#include "base/result.h"
#include "wire/messages.h"

namespace nvs::daemon {
namespace {

using nlohmann::json;

Checked<std::string> name_in(const json& value, const char* what) {
  if (!value.is_string()) return invalid(std::string(what) + " is " + echo(value) + ", not a text");
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() || text.size() > kPodNameMax)
    return invalid(std::string(what) + " is " + echo(value) + ", not 1 to 253 characters");
  return text;
}

Checked<std::string> slot_member(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) return invalid("a slot in use has no '" + std::string(name) + "'");
  return name_in(*found, name);
}

// A number from 1 to `most`; 0 where there is none.
Checked<std::uint64_t> slot_number(const json& object, const char* name, std::uint64_t most) {
  const auto found = object.find(name);
  if (found == object.end()) return std::uint64_t{0};
  const bool is_number = found->is_number_unsigned();
  if (!is_number || found->get<std::uint64_t>() == 0 || found->get<std::uint64_t>() > most)
    return invalid("'" + std::string(name) + "' of a slot is " + echo(*found) +
                   ", not a number from 1 to " + std::to_string(most));
  return found->get<std::uint64_t>();
}

Checked<bool> slot_flag(const json& request, const char* name) {
  const auto found = request.find(name);
  if (found == request.end()) return false;
  if (!found->is_boolean())
    return invalid("'" + std::string(name) + "' is " + echo(*found) + ", not true or false");
  return found->get<bool>();
}

Checked<const json*> slot_list(const json& request, const char* name) {
  static const json kNothing = json::array();
  const auto found = request.find(name);
  if (found == request.end()) return &kNothing;
  if (!found->is_array())
    return invalid("'" + std::string(name) + "' is " + echo(*found) + ", not a list");
  return &*found;
}

}  // namespace

Checked<SlotChange> slot_change(const json& request) {
  SlotChange change;
  change.begins = NVS_TRY(slot_flag(request, "begins"));
  change.ends = NVS_TRY(slot_flag(request, "ends"));
  for (const json& use : *NVS_TRY(slot_list(request, "used"))) {
    if (!use.is_object()) return invalid("'used' holds " + echo(use) + ", not an object");
    SlotUse& added = change.used.emplace_back();
    added.slot = NVS_TRY(slot_member(use, "slot"));
    added.pod.space = NVS_TRY(slot_member(use, "namespace"));
    added.pod.name = NVS_TRY(slot_member(use, "pod"));
    added.container = NVS_TRY(slot_member(use, "container"));
    const std::uint64_t bytes = NVS_TRY(slot_number(use, "memory_bytes", wire::kGpuBytesMax));
    const std::uint64_t cores = NVS_TRY(slot_number(use, "cores", kPercentMost));
    if (bytes != 0) added.memory = MemoryWord::of({.bytes = bytes, .percent = 0});
    if (cores != 0) added.cores = CoresWord::of(static_cast<std::uint32_t>(cores));
  }
  for (const json& slot : *NVS_TRY(slot_list(request, "freed"))) {
    change.freed.push_back(NVS_TRY(name_in(slot, "a slot in 'freed'")));
  }
  return change;
}

}  // namespace nvs::daemon
