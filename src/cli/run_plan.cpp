// SPDX-License-Identifier: Apache-2.0
#include "cli/run_plan.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/preload.h"

namespace nvs::cli {

RunPlan plan_run(const RunOptions& options, const RunFacts& facts) {
  RunPlan plan;
  const std::vector<std::string> needed =
      facts.target.elf ? facts.target.elf->needed : std::vector<std::string>{};
  plan.environment.push_back(
      {"LD_PRELOAD", compose_preload(facts.inherited_preload, facts.library, needed)});
  if (options.disable) plan.environment.push_back({"NVSHARE_DISABLE", "1"});
  if (options.debug) plan.environment.push_back({"NVSHARE_DEBUG", "1"});
  if (!options.debug_file.empty()) {
    // Absolute, because the program may have changed its folder by the time it is opened.
    const std::filesystem::path file =
        std::filesystem::path(facts.working_folder) / options.debug_file;
    plan.environment.push_back({"NVSHARE_DEBUG_FILE", file.lexically_normal().string()});
  }
  if (facts.sharing) {
    plan.environment.push_back({"NVSHARE_FOLDER", facts.sharing->folder});
    plan.environment.push_back({"NVSHARE_RUN", facts.sharing->run});
    if (!facts.sharing->warning.empty()) plan.warnings.push_back(facts.sharing->warning);
  }
  if (!options.priority.empty()) {
    plan.environment.push_back({"NVSHARE_PRIORITY", options.priority});
  }
  // Who switches the library off does not expect sharing.
  if (options.disable) return plan;
  if (const auto reason = why_not_shared(facts.target, facts.ours)) {
    plan.warnings.push_back(fmt::format("{} cannot be shared: {}", facts.target.path, *reason));
  }
  return plan;
}

}  // namespace nvs::cli
