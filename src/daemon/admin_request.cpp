// SPDX-License-Identifier: Apache-2.0
// One request: parsed, checked in full, then done. Nothing is done of a request that has a mistake.
#include "daemon/admin_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "daemon/admin.h"
#include "daemon/admin_limits.h"
#include "daemon/admin_slots.h"
#include "daemon/status_words.h"
#include "daemon/status_writer.h"

namespace nvs::daemon {
namespace {

using nlohmann::json;

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kCodes = {"not_found", "invalid", "denied"};
constexpr std::size_t kListedMax = 20;

std::string with_word(std::string text, const std::string& word) {
  return text.empty() ? word : text + ", " + word;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_gpu_meant(const AdminGpu& gpu, const json& wanted) {
  if (wanted.is_number_unsigned()) return wanted.get<std::uint64_t>() == index_of(gpu.gpu);
  const auto& text = wanted.get_ref<const std::string&>();
  if (text == "all") return true;
  if (const auto index = parse_number(text)) return *index == index_of(gpu.gpu);
  return (text.starts_with("GPU-") || text.starts_with("MIG-")) && gpu.uuid.starts_with(text);
}

// Marks those that one word means among all GPUs of the node.
Checked<void> mark_gpus(const std::vector<AdminGpu>& gpus, const json& wanted,
                        std::vector<bool>& is_meant) {
  if (!wanted.is_number_integer() && !wanted.is_string())
    return invalid("'gpu' is " + echo(wanted) + ", not an index, a UUID or \"all\"");
  std::size_t found = 0;
  std::string uuids;
  const bool is_negative = wanted.is_number() && !wanted.is_number_unsigned();
  for (std::size_t i = 0; i < gpus.size() && !is_negative; ++i) {
    if (!is_gpu_meant(gpus[i], wanted)) continue;
    if (++found <= kListedMax) uuids = with_word(std::move(uuids), gpus[i].uuid);
    is_meant[i] = true;
  }
  if (found == 0 && gpus.empty())
    return not_found("this node has no GPU, or none that a program has used so far");
  if (found == 0)
    return not_found("no GPU is " + echo(wanted) + "; status lists the GPUs of this node");
  if (found > 1 && wanted != "all")
    return invalid("more than one GPU is meant by " + echo(wanted) + ": " + uuids);
  return {};
}

Checked<std::vector<AdminGpu>> find_gpus(NodeControl& control, const json& request) {
  const auto wanted = request.find("gpu");
  if (wanted == request.end()) return invalid("'gpu' is missing: an index, a UUID or \"all\"");
  if (wanted->is_array() && wanted->empty()) return invalid("'gpu' is a list that names no GPU");
  std::vector<AdminGpu> gpus = control.gpus();
  std::vector<bool> is_meant(gpus.size());
  if (wanted->is_array()) {
    for (const json& one : *wanted) NVS_TRY(mark_gpus(gpus, one, is_meant));
  } else {
    NVS_TRY(mark_gpus(gpus, *wanted, is_meant));
  }
  std::vector<AdminGpu> found;
  for (std::size_t i = 0; i < gpus.size(); ++i)
    if (is_meant[i]) found.push_back(std::move(gpus[i]));
  return found;
}

// As people write it: 500us, 20ms, 5s.
std::string time_text(double seconds) {
  const bool is_short = seconds < 1;
  JsonWriter number;
  return number.number(is_short ? seconds * 1e3 : seconds).take() + (is_short ? "ms" : "s");
}

// Policies as they will be; the GPUs' own where the request says nothing.
Checked<void> change(core::GpuPolicy& policy, const json& request) {
  if (const auto mode = request.find("mode"); mode != request.end()) {
    const auto parsed =
        mode->is_string() ? parse_mode(mode->get_ref<const std::string&>()) : std::nullopt;
    if (!parsed) return invalid("'mode' is " + echo(*mode) + ", not auto, serial or concurrent");
    policy.mode = *parsed;
  }
  if (const auto window = request.find("window_ms"); window != request.end()) {
    if (!window->is_number())
      return invalid("'window_ms' is " + echo(*window) + ", not a number of milliseconds");
    const auto parsed = window_of_ms(window->get<double>());
    if (!parsed)
      return invalid("a window can be 1ms to 1s long, and not " +
                     time_text(window->get<double>() / 1e3));
    policy.window = *parsed;
  }
  if (const auto turn = request.find("turn_s"); turn != request.end()) {
    const bool is_auto = *turn == "auto";
    if (!is_auto && !turn->is_number())
      return invalid("'turn_s' is " + echo(*turn) + ", not a number of seconds or \"auto\"");
    const auto parsed = is_auto ? std::nullopt : turn_of_s(turn->get<double>());
    if (!parsed && !is_auto)
      return invalid("a turn can be 100ms to 1h long or auto, and not " +
                     time_text(turn->get<double>()));
    policy.turn = parsed;
  }
  return {};
}

// MPS merges the work of tenants, so that nothing can be set there that would take effect.
Checked<void> check_mps(const std::vector<AdminGpu>& gpus, const json& request) {
  const auto mode = request.find("mode");
  const bool is_concurrent = mode != request.end() && *mode == "concurrent";
  const bool needs_windows = request.contains("window_ms") || request.contains("turn_s");
  if (is_concurrent && !needs_windows) return {};
  std::string indices;
  for (const AdminGpu& gpu : gpus)
    if (gpu.mps_active) indices = with_word(std::move(indices), std::to_string(index_of(gpu.gpu)));
  if (indices.empty()) return {};
  return invalid("windows and turns are off on GPU " + indices +
                 ", because MPS runs there: only the mode concurrent is possible until MPS is "
                 "stopped and the daemon restarted; for other GPUs, name them");
}

// For people who believe that what they were not told of is done for good.
void write_unsaved(JsonWriter& result, NodeControl& control) {
  const std::optional<Unsaved> unsaved = control.unsaved();
  if (!unsaved) return;
  result.key("unsaved").begin_object().key("file").text(unsaved->file);
  result.key("error").text(unsaved->error).end_object();
}

Checked<std::string> do_set(NodeControl& control, const json& request) {
  std::vector<AdminGpu> gpus = NVS_TRY(find_gpus(control, request));
  if (!request.contains("mode") && !request.contains("window_ms") && !request.contains("turn_s"))
    return invalid("nothing to set: give 'mode', 'window_ms' or 'turn_s'");
  for (AdminGpu& gpu : gpus) NVS_TRY(change(gpu.policy, request));
  NVS_TRY(check_mps(gpus, request));
  JsonWriter result;
  result.begin_object().key("gpus").begin_array();
  for (const AdminGpu& gpu : gpus) {
    control.set_policy(gpu.gpu, gpu.policy);
    result.number(index_of(gpu.gpu));
  }
  result.end_array();
  write_unsaved(result, control);
  return result.end_object().take();
}

// A text may be a name or an id. A tenant can give itself any name, another's id included: then
// both are meant, and the administrator has to say which.
bool is_tenant_meant(const AdminTenant& tenant, const json& wanted) {
  const auto id = static_cast<std::uint64_t>(tenant.tenant);
  if (wanted.is_number_unsigned()) return wanted.get<std::uint64_t>() == id;
  if (!wanted.is_string()) return false;
  const auto& text = wanted.get_ref<const std::string&>();
  return text == tenant.name || parse_number(text) == id;
}

Checked<AdminTenant> find_tenant(NodeControl& control, const json& request) {
  const auto wanted = request.find("tenant");
  if (wanted == request.end()) return invalid("'tenant' is missing: an id or a name");
  if (!wanted->is_number_integer() && !wanted->is_string())
    return invalid("'tenant' is " + echo(*wanted) + ", not an id or a name");
  std::vector<AdminTenant> found;
  std::string ids;
  for (AdminTenant& tenant : control.tenants()) {
    if (!is_tenant_meant(tenant, *wanted)) continue;
    if (found.size() < kListedMax)
      ids = with_word(std::move(ids), std::to_string(static_cast<std::uint64_t>(tenant.tenant)));
    found.push_back(std::move(tenant));
  }
  if (found.empty())
    return not_found("no tenant is " + echo(*wanted) + "; status lists the tenants of this node");
  if (found.size() > 1)
    return invalid(std::to_string(found.size()) + " tenants are meant by " + echo(*wanted) +
                   "; say which by id: " + ids);
  return std::move(found.front());
}

// Of a change that was made.
std::string tenant_result(NodeControl& control, const AdminTenant& tenant) {
  JsonWriter result;
  result.begin_object().key("tenant").number(static_cast<std::uint64_t>(tenant.tenant));
  result.key("name").text(tenant.name);
  write_unsaved(result, control);
  return result.end_object().take();
}

Checked<std::string> do_pause(NodeControl& control, const json& request) {
  const AdminTenant tenant = NVS_TRY(find_tenant(control, request));
  control.pause(tenant.tenant);
  return tenant_result(control, tenant);
}

Checked<std::string> do_resume(NodeControl& control, const json& request) {
  const AdminTenant tenant = NVS_TRY(find_tenant(control, request));
  control.resume(tenant.tenant);
  return tenant_result(control, tenant);
}

Checked<std::string> do_priority(NodeControl& control, const json& request) {
  const AdminTenant tenant = NVS_TRY(find_tenant(control, request));
  const auto priority = request.find("priority");
  if (priority == request.end()) return invalid("'priority' is missing: low, normal or high");
  const auto parsed = priority->is_string()
                          ? parse_priority(priority->get_ref<const std::string&>())
                          : std::nullopt;
  if (!parsed) return invalid("'priority' is " + echo(*priority) + ", not low, normal or high");
  control.set_priority(tenant.tenant, *parsed);
  return tenant_result(control, tenant);
}

Checked<std::string> do_weight(NodeControl& control, const json& request) {
  const AdminTenant tenant = NVS_TRY(find_tenant(control, request));
  const auto weight = request.find("weight");
  if (weight == request.end()) return invalid("'weight' is missing: a number from 1 to 1000");
  if (!weight->is_number_unsigned() || weight->get<std::uint64_t>() < kWeightMin ||
      weight->get<std::uint64_t>() > kWeightMax)
    return invalid("'weight' is " + echo(*weight) + ", not a whole number from 1 to 1000");
  control.set_weight(tenant.tenant, weight->get<std::uint32_t>());
  return tenant_result(control, tenant);
}

Checked<std::string> do_limit(NodeControl& control, const json& request) {
  const AdminTenant tenant = NVS_TRY(find_tenant(control, request));
  control.set_limits(tenant.tenant, NVS_TRY(limit_change(request)));
  return tenant_result(control, tenant);
}

Checked<std::string> do_slots(NodeControl& control, const json& request) {
  control.set_slots(NVS_TRY(slot_change(request)));
  return "{}";
}

Checked<std::string> do_status(NodeControl& control, const json& /*request*/) {
  return control.status();
}

Checked<std::string> do_trace(NodeControl& control, const json& request) {
  const auto seconds = request.find("seconds");
  if (seconds == request.end()) return invalid("'seconds' is missing: how far back to go");
  const double value = seconds->is_number() ? seconds->get<double>() : 0;
  if (!(value > 0 && value <= kTraceSecondsMax))
    return invalid("'seconds' is " + echo(*seconds) + ", not a number above 0 and up to 86400");
  return control.trace(Duration::from_ns(static_cast<std::int64_t>(value * 1e9)));
}

struct Command {
  std::string_view name;
  std::array<std::string_view, 4> fields;  // that it may have
  Checked<std::string> (*run)(NodeControl&, const json&);
};
constexpr std::array<Command, 2> kPluginCommands = {{
    {"status", {}, do_status},
    {"slots", {"begins", "ends", "used", "freed"}, do_slots},
}};
constexpr std::array<Command, 8> kCommands = {{
    {"status", {}, do_status},
    {"set", {"gpu", "mode", "window_ms", "turn_s"}, do_set},
    {"pause", {"tenant"}, do_pause},
    {"resume", {"tenant"}, do_resume},
    {"priority", {"tenant", "priority"}, do_priority},
    {"weight", {"tenant", "weight"}, do_weight},
    {"limit", {"tenant", "memory", "cores"}, do_limit},
    {"trace", {"seconds"}, do_trace},
}};

std::span<const Command> commands_of(Asker asker) {
  if (asker == Asker::plugin) return kPluginCommands;
  return kCommands;
}

Checked<std::string> run(NodeControl& control, std::string_view line, Asker asker) {
  const json request = json::parse(line, nullptr, false);
  if (request.is_discarded()) return invalid("the request is not JSON");
  if (!request.is_object()) return invalid("the request is not a JSON object");
  const auto name = request.find("command");
  if (name == request.end()) return invalid("'command' is missing");

  std::string known;
  const std::span<const Command> commands = commands_of(asker);
  for (const Command& command : commands) known = with_word(known, std::string(command.name));
  const auto command =
      std::find_if(commands.begin(), commands.end(),
                   [&](const Command& candidate) { return *name == candidate.name; });
  if (command == commands.end())
    return invalid("'command' is " + echo(*name) + ", not one of " + known);
  // A misspelt field would be passed over, and its default used, in silence.
  for (const auto& [key, value] : request.items()) {
    const bool may = key == "command" || (!key.empty() && std::count(command->fields.begin(),
                                                                     command->fields.end(), key));
    if (!may)
      return invalid("the command " + std::string(command->name) + " has no field " + echo(key));
  }
  return command->run(control, request);
}

}  // namespace

std::string echo(const json& value) {
  constexpr std::size_t kEchoMax = 100;
  if (value.is_structured()) return value.is_array() ? "a list" : "an object";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kEchoMax) text = text.substr(0, kEchoMax) + "...";
  return text;
}

std::string refusal_text(const Refusal& refusal) {
  JsonWriter text;
  text.begin_object().key("ok").boolean(false);
  text.key("code").text(kCodes.at(static_cast<std::size_t>(refusal.code)));
  return text.key("error").text(refusal.text).end_object().take();
}

std::string answer(NodeControl& control, std::string_view line, Asker asker) {
  const Checked<std::string> result = run(control, line, asker);
  if (!result) return refusal_text(result.error());
  JsonWriter text;
  return text.begin_object().key("ok").boolean(true).key("result").raw(*result).end_object().take();
}

}  // namespace nvs::daemon
