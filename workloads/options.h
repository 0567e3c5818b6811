// SPDX-License-Identifier: Apache-2.0
// The command line of nvshare-workload as a struct.
#pragma once

#include <string>

#include "workloads/gpu.h"
#include "workloads/progress.h"
#include "workloads/workload.h"
#include "workloads/workload_run.h"

namespace nvs::workloads {

struct Options {
  const WorkloadKind* kind = nullptr;
  std::string label;
  GpuOptions gpu;
  RunRequest run;
  Rewrite rewrite = Rewrite::kAsNeeded;
  ProgressMode progress = ProgressMode::kAuto;
  int status_fd = -1;
  int start_fd = -1;
};

// Prints help and errors itself. True: run with `options`; false: end with `exit_code`.
bool parse_options(int argc, char** argv, Options& options, int& exit_code);

}  // namespace nvs::workloads
