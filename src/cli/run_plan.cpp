// SPDX-License-Identifier: Apache-2.0
#include "cli/run_plan.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "cli/preload.h"

namespace nvs::cli {

namespace {

constexpr const char* kMemoryVariable = "NVSHARE_GPU_MEMORY_LIMIT";
constexpr const char* kCoresVariable = "NVSHARE_GPU_CORE_LIMIT";

struct LimitOption {
  const char* option;
  const char* variable;
  const std::string& asked;      // empty: nothing
  const std::string& inherited;  // likewise
  bool is_understood;            // what is inherited
};

// Whether the option is what counts. The environment's word is the stronger one, unless it is none.
bool plan_limit(const LimitOption& limit, RunPlan& plan) {
  const bool counts = limit.inherited.empty() || !limit.is_understood;
  if (!limit.inherited.empty() && !limit.is_understood) {
    plan.warnings.push_back(
        fmt::format("{}={} in the environment is not understood, and counts "
                    "for nothing",
                    limit.variable, limit.inherited));
  }
  if (limit.asked.empty()) return false;
  if (counts) {
    plan.environment.push_back({limit.variable, limit.asked});
  } else if (limit.inherited != limit.asked) {
    plan.warnings.push_back(fmt::format("{}={} in the environment counts more than {} {}",
                                        limit.variable, limit.inherited, limit.option,
                                        limit.asked));
  }
  return counts;
}

void plan_limits(const RunOptions& options, const RunFacts& facts, RunPlan& plan) {
  const LimitOption memory{"--memory", kMemoryVariable, options.memory, facts.inherited_memory,
                           parse_memory(facts.inherited_memory).has_value()};
  const LimitOption cores{"--cores", kCoresVariable, options.cores, facts.inherited_cores,
                          parse_cores(facts.inherited_cores).has_value()};
  const bool is_memory_ours = plan_limit(memory, plan);
  const bool is_cores_ours = plan_limit(cores, plan);
  const bool is_any_inherited = (!is_memory_ours && !facts.inherited_memory.empty()) ||
                                (!is_cores_ours && !facts.inherited_cores.empty());
  // Whose words they are, for those who look; of two kinds, it is the environment.
  if ((is_memory_ours || is_cores_ours) && !is_any_inherited) {
    plan.environment.push_back({"NVSHARE_LIMITS_OF_RUN", "1"});
  }
}

}  // namespace

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
  plan_limits(options, facts, plan);
  if (const auto reason = why_not_shared(facts.target, facts.ours)) {
    plan.warnings.push_back(fmt::format("{} cannot be shared: {}", facts.target.path, *reason));
  }
  return plan;
}

}  // namespace nvs::cli
