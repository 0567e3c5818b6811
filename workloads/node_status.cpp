// SPDX-License-Identifier: Apache-2.0
#include "workloads/node_status.h"

#include <nlohmann/json.hpp>

namespace nvs::workloads {
namespace {

using nlohmann::json;

GpuUse use_from(const json& object) {
  return {.gpu = object.at("gpu").get<int>(),
          .state = object.at("state").get<std::string>(),
          .used_seconds = object.at("used_s").get<double>(),
          .longest_wait_seconds = object.at("longest_wait_s").get<double>(),
          .windows = object.at("windows").get<std::uint64_t>(),
          .resident_bytes = object.value("resident_bytes", std::uint64_t{0}),
          .swapped_bytes = object.value("swapped_bytes", std::uint64_t{0})};
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
    NodeStatus status;
    for (const json& gpu : answer.at("result").at("gpus")) status.gpus.push_back(gpu_from(gpu));
    for (const json& tenant : answer.at("result").at("tenants")) {
      status.tenants.push_back(tenant_from(tenant));
    }
    return status;
  } catch (const json::exception&) {
    return tl::unexpected(Error{Errc::kInvalidInput, 0, "the daemon's status cannot be read"});
  }
}

}  // namespace nvs::workloads
