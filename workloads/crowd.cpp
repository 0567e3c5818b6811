// SPDX-License-Identifier: Apache-2.0
#include "workloads/crowd.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "workloads/progress.h"

namespace nvs::workloads {
namespace {

constexpr int kTasks = 4;
constexpr unsigned kRateBarWidth = 30;
// Of the workload's usual run, which is some 15 s alone, by the clock of the GPU.
constexpr double kTaskLength = 0.5;
// Enough for Unified Memory to show what it does, and after this much time of the wall's clock it
// has.
constexpr double kUnifiedIterations = 2;
constexpr double kUnifiedSecondsMax = 20;
// How much faster than on a card it goes. What nvshare moves is copied, and that takes its time;
// where Unified Memory is, is only written down.
constexpr double kNvshareTime = 0.2;
constexpr double kUnifiedTime = 0.05;

Scene scene_of(const std::string& title, int gpus, CrowdWay way, double length) {
  std::vector<std::string> arguments = {"add", "--rewrite", "--size", "12G"};
  if (way == CrowdWay::kNvshare) {
    arguments.insert(arguments.end(), {"--length", fmt::format("{:.4f}", kTaskLength * length)});
  } else {
    const double iterations = std::max(1.0, std::round(kUnifiedIterations * length));
    arguments.insert(arguments.end(),
                     {"--managed", "--iterations", fmt::format("{:.0f}", iterations)});
  }
  Scene scene{.title = title, .tenants = {}};
  for (int i = 0; i < kTasks; ++i) {
    scene.tenants.push_back({.label = fmt::format("task {}", i + 1),
                             .gpu = i % gpus,
                             .arguments = arguments,
                             .environment = {}});
  }
  return scene;
}

std::string time_of(const CrowdTask& task) {
  if (task.iterations < 1) return fmt::format("none in {:.0f} s", task.seconds);
  return fmt::format("{:.2f} s an iteration", task.seconds / task.iterations);
}

}  // namespace

std::vector<Crowd> plan_crowds(double length) {
  const auto crowd = [&](const char* name, const char* title, int gpus, CrowdWay way) {
    const double factor = way == CrowdWay::kNvshare ? kNvshareTime : kUnifiedTime;
    return Crowd{name, gpus, way, scene_of(title, gpus, way, length), factor, 0};
  };
  std::vector<Crowd> crowds = {
      crowd("nvshare, two GPUs", "Four 12 GB tasks on two GPUs of 16 GB: nvshare", 2,
            CrowdWay::kNvshare),
      crowd("nvshare, one GPU", "The same on one GPU: nvshare", 1, CrowdWay::kNvshare),
      crowd("Unified Memory, one GPU",
            "The same on one GPU: Unified Memory and the driver's time-slicing, without nvshare", 1,
            CrowdWay::kUnifiedMemory)};
  crowds.back().stop_after_seconds = kUnifiedSecondsMax * std::max(1.0, length);
  return crowds;
}

double CrowdResult::rate() const {
  double iterations = 0, seconds = 0;
  for (const CrowdTask& task : tasks) {
    iterations += task.iterations;
    seconds = std::max(seconds, task.seconds);
  }
  return seconds > 0 ? iterations / seconds : 0;
}

bool CrowdResult::good() const {
  return !tasks.empty() &&
         std::all_of(tasks.begin(), tasks.end(), [](const CrowdTask& task) { return task.good; });
}

CrowdResult crowd_result(const Crowd& crowd, std::span<const Tenant> tenants,
                         double scene_seconds) {
  CrowdResult result{crowd.name, {}};
  for (const Tenant& tenant : tenants) {
    const bool stopped = tenant.timed_out && crowd.stop_after_seconds > 0;
    CrowdTask task{.label = tenant.spec.label,
                   .gpu = tenant.spec.gpu,
                   .iterations = static_cast<double>(tenant.result.iterations),
                   .seconds = tenant.result.seconds / crowd.time_factor,
                   .verdict = tenant.result.pass ? "PASS"
                              : stopped          ? "stopped"
                                                 : "FAIL",
                   .good = tenant.result.pass || stopped};
    // One that got nothing done may not even have told that it began.
    if (stopped && task.iterations < 1) task.seconds = scene_seconds / crowd.time_factor;
    result.tasks.push_back(std::move(task));
  }
  return result;
}

std::string render_crowds(std::span<const CrowdResult> results) {
  double most = 0;
  for (const CrowdResult& result : results) {
    for (const CrowdTask& task : result.tasks) most = std::max(most, task.rate());
  }
  std::string text = "Iterations a second of each task, by the GPU's clock:\n";
  for (const CrowdResult& result : results) {
    text += fmt::format("{}\n", result.name);
    for (const CrowdTask& task : result.tasks) {
      const double part = most > 0 ? task.rate() / most : 0;
      text +=
          fmt::format("  {}  GPU {}  {}  {:5.2f}  {}, {}\n", task.label, task.gpu,
                      render_bar(part, kRateBarWidth), task.rate(), time_of(task), task.verdict);
    }
  }
  return text;
}

CrowdVerdict judge_crowds(const CrowdResult& nvshare, const CrowdResult& unified) {
  CrowdVerdict verdict{nvshare.good() && unified.good() && nvshare.rate() > unified.rate(), ""};
  verdict.text = fmt::format(
      "On one GPU all four together: {:.1f} iterations a second under nvshare, "
      "{:.2f} as Unified Memory",
      nvshare.rate(), unified.rate());
  if (unified.rate() > 0) {
    verdict.text += fmt::format(" ({:.0f} times as many)", nvshare.rate() / unified.rate());
  }
  verdict.text += ".\n";
  return verdict;
}

}  // namespace nvs::workloads
