// SPDX-License-Identifier: Apache-2.0
// What `nvshare run` changes in a program's environment and what it warns of, decided before
// anything is done.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/run_options.h"
#include "cli/sharing.h"
#include "cli/target.h"

namespace nvs::cli {

struct Variable {
  std::string name;
  std::string value;

  bool operator==(const Variable&) const = default;
};

struct RunPlan {
  std::vector<Variable> environment;  // set, in place of what they were; all others stay
  std::vector<std::string> warnings;
};

struct RunFacts {
  std::string library;
  std::string inherited_preload;  // LD_PRELOAD as it is
  std::string working_folder;
  ElfMachine ours;
  Target target;
  std::optional<Sharing> sharing;  // none: the library is switched off
  // NVSHARE_GPU_MEMORY_LIMIT and NVSHARE_GPU_CORE_LIMIT as they are; empty: not set.
  std::string inherited_memory = {};
  std::string inherited_cores = {};
  std::string inherited_of_run = {};  // NVSHARE_LIMITS_OF_RUN: which of them an outer run set
};

RunPlan plan_run(const RunOptions& options, const RunFacts& facts);

}  // namespace nvs::cli
