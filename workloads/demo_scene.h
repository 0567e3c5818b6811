// SPDX-License-Identifier: Apache-2.0
// One scene of the demonstration: its tenants run, a terminal shows how far they are, who holds the
// GPU and where memory is, and what became of them is told.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "workloads/demo_daemon.h"
#include "workloads/demo_plan.h"
#include "workloads/progress.h"
#include "workloads/runner.h"
#include "workloads/share_view.h"

namespace nvs::workloads {

// Where scenes run.
struct Stage {
  std::string driver_path;               // what tenants load; empty: the usual driver
  std::vector<std::string> environment;  // NAME=value, for tenants
  DemoDaemon* daemon = nullptr;          // null: the driver shares
  double scale = 1;                      // of the simulator's memory
  double timeout_seconds = 0;
  ProgressMode progress = ProgressMode::kAuto;
  std::function<bool()> is_cancelled;
};

struct ScenePlay {
  std::vector<Tenant> tenants;  // empty if they could not be started
  ShareView shares;
  std::string daemon_trouble;
  double seconds = 0;
  std::string failure;  // why they could not be started
};

// Called with each answer of the daemon.
using StatusWatcher = std::function<void(const NodeStatus&, std::span<const Tenant>)>;

enum class Shown { kGpus, kGpusAndMemory };

// Shows it while it goes on, and leaves nothing of that on the screen.
ScenePlay play_scene(const Scene& scene, const Stage& stage, Shown shown,
                     const StatusWatcher& on_status = nullptr);

// Complaints about the daemon, whole lines; empty if there are none.
std::string render_trouble(const ScenePlay& play);

}  // namespace nvs::workloads
