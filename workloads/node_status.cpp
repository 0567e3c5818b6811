// SPDX-License-Identifier: Apache-2.0
#include "workloads/node_status.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace nvs::workloads {
namespace {

using nlohmann::json;

GpuUse use_from(const json& object) {
  GpuUse use{.gpu = object.at("gpu").get<int>(),
             .state = object.at("state").get<std::string>(),
             .used_seconds = object.at("used_s").get<double>(),
             .longest_wait_seconds = object.at("longest_wait_s").get<double>(),
             .windows = object.at("windows").get<std::uint64_t>(),
             .resident_bytes = object.value("resident_bytes", std::uint64_t{0}),
             .swapped_bytes = object.value("swapped_bytes", std::uint64_t{0}),
             .throttled_seconds = object.value("throttled_s", 0.0)};
  const auto cap = object.find("cap_in_force_percent");
  if (cap != object.end() && !cap->is_null()) use.cap_in_force_percent = cap->get<double>();
  return use;
}

NodeTenant tenant_from(const json& object) {
  NodeTenant tenant{.id = object.at("id").get<std::uint64_t>()};
  for (const json& client : object.at("clients")) {
    tenant.pids.push_back(client.at("pid").get<pid_t>());
  }
  for (const json& use : object.at("gpus")) tenant.gpus.push_back(use_from(use));
  return tenant;
}

NodeGpu gpu_from(const json& object) {
  NodeGpu gpu{.index = object.at("index").get<int>(),
              .switches = object.at("switches").get<std::uint64_t>(),
              .held_seconds = object.at("held_s").get<double>(),
              .handover_seconds = object.at("handover_s").get<double>()};
  const json& holder = object.at("holder");
  if (!holder.is_null()) gpu.holder = holder.get<std::uint64_t>();
  return gpu;
}

}  // namespace

Result<NodeStatus> parse_node_status(std::string_view line) {
  try {
    const json answer = json::parse(line);
    if (!answer.at("ok").get<bool>()) {
      return tl::unexpected(Error{Errc::kInvalidInput, 0, "the daemon refuses to tell its status"});
    }
    NodeStatus status{.uptime_seconds = answer.at("result").value("uptime_s", 0.0)};
    for (const json& gpu : answer.at("result").at("gpus")) status.gpus.push_back(gpu_from(gpu));
    for (const json& tenant : answer.at("result").at("tenants")) {
      status.tenants.push_back(tenant_from(tenant));
    }
    return status;
  } catch (const json::exception&) {
    return tl::unexpected(Error{Errc::kInvalidInput, 0, "the daemon's status cannot be read"});
  }
}

Result<void> parse_node_answer(std::string_view line) {
  const json answer = json::parse(line, nullptr, false);
  if (answer.is_object() && answer.value("ok", json()) == true) return {};
  return tl::unexpected(Error{Errc::kInvalidInput, 0, "the daemon refuses"});
}

const NodeTenant* find_tenant(const NodeStatus& status, pid_t pid) {
  const auto found =
      std::find_if(status.tenants.begin(), status.tenants.end(), [&](const NodeTenant& tenant) {
        return std::find(tenant.pids.begin(), tenant.pids.end(), pid) != tenant.pids.end();
      });
  return found == status.tenants.end() ? nullptr : &*found;
}

}  // namespace nvs::workloads
