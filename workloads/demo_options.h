// SPDX-License-Identifier: Apache-2.0
// The command line of nvshare-demo.
#pragma once

#include <string>

#include "workloads/platform.h"
#include "workloads/progress.h"

namespace nvs::workloads {

struct DemoOptions {
  GpuChoice choice = GpuChoice::kWhatIsThere;
  SimulatorSettings simulator;
  bool use_daemon = true;
  double length = 1;
  std::string part = "all";
  ProgressMode progress = ProgressMode::kAuto;
};

// False: the program is to end with this code, and what there is to say is said.
bool parse_demo_options(int argc, char** argv, DemoOptions& options, int& exit_code);

}  // namespace nvs::workloads
