// SPDX-License-Identifier: Apache-2.0
#include "workloads/demo_scene.h"

#include <chrono>
#include <cstdio>

#include <fmt/format.h>

#include "workloads/live_view.h"

namespace nvs::workloads {
namespace {

std::vector<TenantSpec> tenants_of(const Scene& scene, const Stage& stage) {
  std::vector<TenantSpec> specs = scene.tenants;
  for (TenantSpec& spec : specs) {
    if (!stage.driver_path.empty()) {
      spec.arguments.insert(spec.arguments.end(), {"--driver", stage.driver_path});
    }
    spec.environment.insert(spec.environment.end(), stage.environment.begin(),
                            stage.environment.end());
    if (stage.daemon == nullptr) continue;
    const std::vector<std::string> daemon = stage.daemon->tenant_environment();
    spec.environment.insert(spec.environment.end(), daemon.begin(), daemon.end());
  }
  return specs;
}

std::vector<std::string> lines_of(const ShareView& shares, double scale, Shown shown) {
  std::vector<std::string> lines = shares.render_gpus();
  if (shown == Shown::kGpus) return lines;
  for (std::string& line : shares.render_memory(scale)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

ScenePlay play_scene(const Scene& scene, const Stage& stage, Shown shown,
                     const StatusWatcher& on_status) {
  fmt::print("\n{}\n", scene.title);
  std::fflush(stdout);
  const auto begin = std::chrono::steady_clock::now();
  ScenePlay play;
  LiveView view(stage.progress);
  RunnerOptions options;
  options.timeout_seconds = stage.timeout_seconds;
  options.is_cancelled = stage.is_cancelled;
  options.on_update = [&](std::span<const Tenant> tenants) {
    if (stage.daemon != nullptr) {
      const auto status = stage.daemon->status();
      if (status) play.shares.take(*status, tenants);
      if (status && on_status) on_status(*status, tenants);
      play.daemon_trouble = status ? "" : status.error().message();
    }
    view.update(tenants, lines_of(play.shares, stage.scale, shown));
  };
  auto tenants = run_tenants(tenants_of(scene, stage), options);
  view.clear();
  if (tenants) {
    play.tenants = *std::move(tenants);
  } else {
    play.failure = tenants.error().message();
  }
  play.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return play;
}

std::string render_trouble(const ScenePlay& play) {
  std::string text;
  if (!play.daemon_trouble.empty()) {
    text += fmt::format("The daemon's status: {}\n", play.daemon_trouble);
  }
  for (const std::string& label : play.shares.lost()) {
    text += fmt::format("{} was not with the daemon while it ran: its shares are wrong.\n", label);
  }
  return text;
}

}  // namespace nvs::workloads
