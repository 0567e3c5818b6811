// SPDX-License-Identifier: Apache-2.0
// Tasks that together need several times the memory of their GPUs: which ones the demonstration
// shows, and the picture of what they got done under nvshare and under Unified Memory.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "workloads/demo_plan.h"
#include "workloads/runner.h"

namespace nvs::workloads {

enum class CrowdWay { kNvshare, kUnifiedMemory };

struct Crowd {
  std::string name;  // "nvshare, two GPUs"
  int gpus = 1;
  CrowdWay way = CrowdWay::kNvshare;
  Scene scene;
  // Seconds of the wall's clock that are one of the GPUs'.
  double time_factor = 1;
  // What has not come to its end by then is stopped, and its work counts so far; 0: all must end.
  double stop_after_seconds = 0;
};

// On simulated T4s of 16 GB, `length` times the usual duration.
std::vector<Crowd> plan_crowds(double length);

// What one task got done, by the GPU's clock.
struct CrowdTask {
  std::string label;
  int gpu = 0;
  double iterations = 0;
  double seconds = 0;
  std::string verdict;  // PASS, FAIL, or that it was stopped
  bool good = false;

  double rate() const { return seconds > 0 ? iterations / seconds : 0; }
};

struct CrowdResult {
  std::string name;
  std::vector<CrowdTask> tasks;

  double rate() const;  // of all together, until the last one is done
  bool good() const;
};

CrowdResult crowd_result(const Crowd& crowd, std::span<const Tenant> tenants, double scene_seconds);

// A bar for each task, as long as its rate.
std::string render_crowds(std::span<const CrowdResult> results);

// Whether all is as it must be: all data is right, and nvshare has done more on one GPU than
// Unified Memory. The text says so.
struct CrowdVerdict {
  bool good = false;
  std::string text;
};
CrowdVerdict judge_crowds(const CrowdResult& nvshare, const CrowdResult& unified);

}  // namespace nvs::workloads
