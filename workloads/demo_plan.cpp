// SPDX-License-Identifier: Apache-2.0
#include "workloads/demo_plan.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kGiB = 1ull << 30;

// What a tenant takes beside its data: its context and its modules.
constexpr std::uint64_t kContextBytes = 512 * kMiB;

struct Role {
  const char* label;
  const char* workload;
  int gpu;
  std::uint64_t bytes;
  double length;  // of the workload's usual run, which is some 15 s alone
};

struct Act {
  const char* title;
  std::vector<Role> roles;
};

const std::vector<Act>& acts() {
  static const std::vector<Act> kActs = {
      {"A 12 GB task; two 4 GB tasks and an idle one side by side",
       {{"add 12 GB", "add", 0, 12 * kGiB, 1.0},
        {"add 4 GB, first", "add-small", 1, 4 * kGiB, 0.45},
        {"add 4 GB, second", "add-small", 1, 4 * kGiB, 0.45},
        {"idle 4 GB", "add-idle", 1, 4 * kGiB, 0.8}}},
      {"Three idle tasks side by side; matrices, a model and a graph side by side",
       {{"idle 4 GB, first", "add-idle", 0, 4 * kGiB, 0.8},
        {"idle 4 GB, second", "add-idle", 0, 4 * kGiB, 0.8},
        {"idle 4 GB, third", "add-idle", 0, 4 * kGiB, 0.8},
        {"matmul", "matmul", 1, 768 * kMiB, 0.3},
        {"infer 8 GB", "infer", 1, 8 * kGiB, 0.3},
        {"graph", "graph", 1, 1 * kGiB, 0.3}}},
  };
  return kActs;
}

// By how much the data of the roles on one GPU must shrink to fit.
double factor_for(std::span<const Role> roles, int gpu, int gpus, std::uint64_t memory_bytes) {
  double data = 0;
  double room = static_cast<double>(memory_bytes);
  for (const Role& role : roles) {
    if (role.gpu % gpus != gpu) continue;
    data += static_cast<double>(role.bytes);
    room -= static_cast<double>(kContextBytes);
  }
  return data > room ? std::max(room, 0.0) / data : 1.0;
}

TenantSpec tenant_for(const Role& role, int gpus, double size_factor, double length) {
  const auto bytes = static_cast<std::uint64_t>(static_cast<double>(role.bytes) * size_factor);
  return {.label = role.label,
          .gpu = role.gpu % gpus,
          .arguments = {role.workload, "--size", std::to_string(std::max(bytes, kMiB)), "--length",
                        fmt::format("{:.4f}", role.length * length)},
          .environment = {}};
}

}  // namespace

DemoPlan plan_demo(int gpus, std::uint64_t gpu_memory_bytes, double length) {
  DemoPlan plan;
  for (const Act& act : acts()) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      plan.size_factor =
          std::min(plan.size_factor, factor_for(act.roles, gpu, gpus, gpu_memory_bytes));
    }
  }
  for (const Act& act : acts()) {
    Scene scene{.title = act.title, .tenants = {}};
    for (const Role& role : act.roles) {
      scene.tenants.push_back(tenant_for(role, gpus, plan.size_factor, length));
    }
    plan.scenes.push_back(std::move(scene));
  }
  return plan;
}

}  // namespace nvs::workloads
