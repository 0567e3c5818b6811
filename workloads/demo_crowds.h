// SPDX-License-Identifier: Apache-2.0
// The part of the demonstration in which tasks need more memory than their GPUs have: on simulated
// GPUs, each time with a machine and a daemon of its own.
#pragma once

#include <functional>
#include <string>

#include "workloads/progress.h"

namespace nvs::workloads {

struct CrowdSettings {
  std::string programs;   // the folder of nvshare-scheduler
  std::string simulator;  // the simulated libcuda.so.1
  double length = 1;
  ProgressMode progress = ProgressMode::kAuto;
  std::function<bool()> is_cancelled;
};

enum class CrowdOutcome { kGood, kBad, kCancelled };

CrowdOutcome show_crowds(const CrowdSettings& settings);

}  // namespace nvs::workloads
