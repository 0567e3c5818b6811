// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/admin_messages.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "cli/ctl/exit_codes.h"
#include "cli/ctl/text_table.h"

namespace nvs::cli {
namespace {

using Json = nlohmann::json;

constexpr double kMsInSecond = 1000;
constexpr std::size_t kNumberDigitsMax = 15;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= kNumberDigitsMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Json number_or_name(std::string_view text) {
  if (is_number(text)) return std::strtoull(std::string(text).c_str(), nullptr, 10);
  return text;
}

// Bytes of the command line that are not UTF-8 name nothing that the daemon knows.
std::string one_line(const Json& request) {
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

template <class T>
std::optional<T> unless_null(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return std::nullopt;
  return found->get<T>();
}

template <class T>
T or_zero(const Json& object, const char* name) {
  return unless_null<T>(object, name).value_or(T{});
}

GpuStatus gpu_of(const Json& object) {
  GpuStatus gpu;
  gpu.index = object.at("index").get<std::uint64_t>();
  gpu.uuid = or_zero<std::string>(object, "uuid");
  gpu.name = or_zero<std::string>(object, "name");
  gpu.memory_bytes = or_zero<std::uint64_t>(object, "memory_bytes");
  gpu.mode = or_zero<std::string>(object, "mode");
  gpu.window_ms = or_zero<double>(object, "window_ms");
  gpu.turn_s = unless_null<double>(object, "turn_s");
  gpu.holder = unless_null<std::uint64_t>(object, "holder");
  gpu.waiting = or_zero<std::uint64_t>(object, "waiting");
  gpu.switches = or_zero<std::uint64_t>(object, "switches");
  gpu.held_s = or_zero<double>(object, "held_s");
  gpu.handover_s = or_zero<double>(object, "handover_s");
  gpu.capacity_bytes = or_zero<std::uint64_t>(object, "capacity_bytes");
  gpu.visible_bytes = or_zero<std::uint64_t>(object, "visible_bytes");
  gpu.other_bytes = or_zero<std::uint64_t>(object, "other_bytes");
  gpu.swap_idle_s = or_zero<double>(object, "swap_idle_s");
  gpu.nvml_error = or_zero<std::string>(object, "nvml_error");
  return gpu;
}

UseStatus use_of(const Json& object) {
  UseStatus use;
  use.gpu = object.at("gpu").get<std::uint64_t>();
  use.state = object.at("state").get<std::string>();
  use.used_s = or_zero<double>(object, "used_s");
  use.waited_s = or_zero<double>(object, "waited_s");
  use.waiting_now_s = or_zero<double>(object, "waiting_now_s");
  use.longest_wait_s = or_zero<double>(object, "longest_wait_s");
  use.windows = or_zero<std::uint64_t>(object, "windows");
  use.memory_bytes = or_zero<std::uint64_t>(object, "memory_bytes");
  use.resident_bytes = or_zero<std::uint64_t>(object, "resident_bytes");
  use.swapped_bytes = or_zero<std::uint64_t>(object, "swapped_bytes");
  use.clean_bytes = or_zero<std::uint64_t>(object, "clean_bytes");
  use.fixed_bytes = or_zero<std::uint64_t>(object, "fixed_bytes");
  use.managed_bytes = or_zero<std::uint64_t>(object, "managed_bytes");
  use.host_bytes = or_zero<std::uint64_t>(object, "host_bytes");
  use.driver_bytes = unless_null<std::uint64_t>(object, "driver_bytes");
  use.memory_limit_bytes = unless_null<std::uint64_t>(object, "memory_limit_bytes");
  use.memory_used_bytes = or_zero<std::uint64_t>(object, "memory_used_bytes");
  use.cap_percent = unless_null<double>(object, "cap_percent");
  use.cap_in_force_percent = unless_null<double>(object, "cap_in_force_percent");
  use.share_10s = unless_null<double>(object, "share_10s");
  use.share_60s = unless_null<double>(object, "share_60s");
  use.throttled_s = or_zero<double>(object, "throttled_s");
  use.memory_wait_s = or_zero<double>(object, "memory_wait_s");
  use.copied_out_bytes = or_zero<std::uint64_t>(object, "copied_out_bytes");
  use.copied_in_bytes = or_zero<std::uint64_t>(object, "copied_in_bytes");
  return use;
}

TenantStatus tenant_of(const Json& object) {
  TenantStatus tenant;
  tenant.id = object.at("id").get<std::uint64_t>();
  tenant.name = or_zero<std::string>(object, "name");
  tenant.priority = or_zero<std::string>(object, "priority");
  tenant.weight = or_zero<std::uint64_t>(object, "weight");
  tenant.paused = or_zero<bool>(object, "paused");
  for (const Json& client : object.at("clients")) {
    tenant.pids.push_back(or_zero<std::uint64_t>(client, "pid"));
  }
  for (const Json& use : object.at("gpus")) tenant.uses.push_back(use_of(use));
  tenant.limit_errors = or_zero<std::vector<std::string>>(object, "limit_errors");
  const Json kubernetes = or_zero<Json>(object, "kubernetes");
  if (kubernetes.is_object() && or_zero<std::string>(kubernetes, "standing") == "unverified") {
    tenant.unverified = or_zero<std::string>(kubernetes, "reason");
  }
  return tenant;
}

HostMemoryStatus host_memory_of(const Json& object) {
  HostMemoryStatus memory;
  memory.cap_bytes = object.at("cap_bytes").get<std::uint64_t>();
  memory.held_bytes =
      or_zero<std::uint64_t>(object, "held_bytes") + or_zero<std::uint64_t>(object, "kept_bytes");
  memory.ready_bytes = or_zero<std::uint64_t>(object, "ready_bytes");
  memory.refused = or_zero<std::uint64_t>(object, "refused");
  return memory;
}

NodeStatus node_of(const Json& object) {
  NodeStatus node;
  node.version = or_zero<std::string>(object, "version");
  node.folder = or_zero<std::string>(object, "folder");
  node.pid = or_zero<std::uint64_t>(object, "pid");
  node.uptime_s = or_zero<double>(object, "uptime_s");
  const auto host_memory = object.find("host_memory");
  if (host_memory != object.end()) node.host_memory = host_memory_of(*host_memory);
  for (const Json& gpu : object.at("gpus")) node.gpus.push_back(gpu_of(gpu));
  for (const Json& tenant : object.at("tenants")) node.tenants.push_back(tenant_of(tenant));
  return node;
}

}  // namespace

std::string status_request() { return R"({"command":"status"})"; }

std::string trace_request(double seconds) {
  return one_line({{"command", "trace"}, {"seconds", seconds}});
}

std::string set_request(std::string_view setting, std::string_view value,
                        const std::vector<std::string>& gpus) {
  Json request = {{"command", "set"}};
  // One request for all of them: the daemon does all of it or nothing. Older ones know no lists.
  if (gpus.size() == 1) {
    request["gpu"] = number_or_name(gpus.front());
  } else {
    request["gpu"] = Json::array();
    for (const std::string& gpu : gpus) request["gpu"].push_back(number_or_name(gpu));
  }
  if (setting == "mode") {
    request["mode"] = value;
  } else if (value == "auto") {
    request["turn_s"] = value;
  } else {
    const double seconds = std::strtod(std::string(value).c_str(), nullptr);
    if (setting == "window") {
      request["window_ms"] = seconds * kMsInSecond;
    } else {
      request["turn_s"] = seconds;
    }
  }
  return one_line(request);
}

std::string pause_request(bool pause, std::string_view tenant) {
  return one_line({{"command", pause ? "pause" : "resume"}, {"tenant", number_or_name(tenant)}});
}

std::string priority_request(std::string_view priority, std::string_view tenant) {
  return one_line(
      {{"command", "priority"}, {"priority", priority}, {"tenant", number_or_name(tenant)}});
}

std::string weight_request(std::string_view weight, std::string_view tenant) {
  return one_line({{"command", "weight"},
                   {"weight", number_or_name(weight)},
                   {"tenant", number_or_name(tenant)}});
}

std::string limit_request(std::string_view kind, std::string_view value, std::string_view tenant) {
  Json request = {{"command", "limit"}, {"tenant", number_or_name(tenant)}};
  request[std::string(kind)] = value;
  return one_line(request);
}

EarlyExit not_understood(std::string_view what) {
  return {kCtlFailed, "the daemon's answer is not understood: " + harmless(what) +
                          "; are nvsharectl and nvshare-scheduler of the same version?"};
}

Outcome<Json> result_of(std::string_view answer) {
  Json parsed = Json::parse(answer, nullptr, false);
  if (parsed.is_discarded() || !parsed.is_object()) {
    return tl::unexpected(not_understood("it is not a JSON object"));
  }
  const auto ok = parsed.find("ok");
  if (ok == parsed.end() || !ok->is_boolean()) {
    return tl::unexpected(not_understood("it does not say whether it is ok"));
  }
  if (*ok) return std::move(parsed["result"]);
  const auto error = parsed.find("error");
  return failure(error != parsed.end() && error->is_string()
                     ? harmless(error->get_ref<const std::string&>())
                     : "the daemon refused, without a reason",
                 kCtlRefused);
}

Outcome<void> check_change(std::string_view answer) {
  const Json result = NVS_TRY(result_of(answer));
  const auto unsaved = result.find("unsaved");
  if (unsaved == result.end()) return {};
  try {
    return failure("it is in force, but could not be written to " +
                       harmless(or_zero<std::string>(*unsaved, "file")) + ": " +
                       harmless(or_zero<std::string>(*unsaved, "error")) +
                       "; a restart of the daemon will lose it",
                   kCtlFailed);
  } catch (const Json::exception& error) {
    return tl::unexpected(not_understood(error.what()));
  }
}

Outcome<std::string> result_text(std::string_view answer) {
  const Json result = NVS_TRY(result_of(answer));
  return result.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Outcome<NodeStatus> status_of(std::string_view answer) {
  const Json result = NVS_TRY(result_of(answer));
  try {
    return node_of(result);
  } catch (const Json::exception& error) {
    return tl::unexpected(not_understood(error.what()));
  }
}

}  // namespace nvs::cli
