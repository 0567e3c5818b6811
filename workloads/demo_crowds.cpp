// SPDX-License-Identifier: Apache-2.0
#include "workloads/demo_crowds.h"

#include <cstdio>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "workloads/crowd.h"
#include "workloads/demo_daemon.h"
#include "workloads/demo_scene.h"
#include "workloads/result_table.h"

namespace nvs::workloads {
namespace {

constexpr int kScale = 64;
// Tasks that hang must not hang the demonstration.
constexpr double kCrowdSecondsMax = 120;

std::vector<std::string> machine_for(const Crowd& crowd, std::size_t number) {
  return {fmt::format("NVSHARE_SIM_MACHINE=demo-{}-crowd-{}", ::getpid(), number),
          "NVSHARE_SIM_PRESET=t4", fmt::format("NVSHARE_SIM_GPUS={}", crowd.gpus),
          fmt::format("NVSHARE_SIM_SCALE={}", kScale),
          fmt::format("NVSHARE_SIM_TIME={}", crowd.time_factor)};
}

std::unique_ptr<DemoDaemon> daemon_for(const CrowdSettings& settings,
                                       const std::vector<std::string>& machine) {
  const std::string libraries = settings.programs + "/../lib";
  auto daemon = DemoDaemon::start({.program = settings.programs + "/nvshare-scheduler",
                                   .library = libraries + "/libnvshare.so",
                                   .nvml_library = libraries + "/sim/libnvidia-ml.so.1",
                                   .environment = machine});
  if (daemon) return *std::move(daemon);
  fmt::print("The daemon cannot be started: {}\n", daemon.error());
  return nullptr;
}

// Empty results if it could not be played.
CrowdResult play(const Crowd& crowd, std::size_t number, const CrowdSettings& settings) {
  const std::vector<std::string> machine = machine_for(crowd, number);
  std::unique_ptr<DemoDaemon> daemon;
  if (crowd.way == CrowdWay::kNvshare) {
    daemon = daemon_for(settings, machine);
    if (daemon == nullptr) return {crowd.name, {}};
  }
  const bool ends = crowd.stop_after_seconds > 0;
  const Stage stage{.driver_path = settings.simulator,
                    .environment = machine,
                    .daemon = daemon.get(),
                    .scale = kScale,
                    .timeout_seconds = ends ? crowd.stop_after_seconds : kCrowdSecondsMax,
                    .progress = settings.progress,
                    .is_cancelled = settings.is_cancelled};
  const ScenePlay play = play_scene(crowd.scene, stage, Shown::kGpusAndMemory);
  if (!play.failure.empty()) fmt::print("{}\n", play.failure);
  CrowdResult result = crowd_result(crowd, play.tenants, play.seconds);
  if (!result.good()) fmt::print("{}", render_failures(play.tenants));
  fmt::print("{}{}", play.shares.render_switches(), render_trouble(play));
  std::fflush(stdout);
  if (!play.daemon_trouble.empty() || !play.shares.lost().empty()) result.tasks.clear();
  return result;
}

}  // namespace

CrowdOutcome show_crowds(const CrowdSettings& settings) {
  fmt::print("\nMore memory than there is, on simulated T4s that are faster than real ones\n");
  const std::vector<Crowd> crowds = plan_crowds(settings.length);
  std::vector<CrowdResult> results;
  bool good = true;
  for (std::size_t i = 0; i < crowds.size(); ++i) {
    results.push_back(play(crowds[i], i, settings));
    if (settings.is_cancelled()) return CrowdOutcome::kCancelled;
    good &= results.back().good();
  }
  const CrowdVerdict verdict = judge_crowds(results[results.size() - 2], results.back());
  fmt::print("\n{}{}", render_crowds(results), verdict.text);
  return good && verdict.good ? CrowdOutcome::kGood : CrowdOutcome::kBad;
}

}  // namespace nvs::workloads
