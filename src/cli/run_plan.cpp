// SPDX-License-Identifier: Apache-2.0
#include "cli/run_plan.h"

#include <cstdint>
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
  const char* word;              // in NVSHARE_LIMITS_OF_RUN
  const std::string& asked;      // empty: nothing
  const std::string& inherited;  // likewise
};

// Of what an outer run was told and this one: an inner one lowers, and never raises.
struct Tightest {
  std::string text;
  bool is_raising = false;  // what this one was told is more
};

Tightest tightest_memory(const std::string& outer, const std::string& inner) {
  const MemoryAmount had = parse_memory(outer).value_or(MemoryAmount{});
  const MemoryAmount wanted = parse_memory(inner).value_or(had);
  const MemoryAmount both = tightest(had, wanted);
  if (both == had) return {outer, wanted != had};
  return {both == wanted ? inner : text_of(both)};
}

Tightest tightest_cores(const std::string& outer, const std::string& inner) {
  const std::uint32_t had = parse_cores(outer).value_or(0);
  const std::uint32_t wanted = parse_cores(inner).value_or(had);
  return wanted < had ? Tightest{inner} : Tightest{outer, wanted > had};
}

enum class Whose : std::uint8_t { nobody, environment, run };

// Who says what counts. The environment's word is the stronger one, unless an outer run put it
// there.
template <class Parse, class Choose>
Whose plan_limit(const LimitOption& limit, const RunFacts& facts, Parse parse, Choose choose,
                 RunPlan& plan) {
  Whose whose = Whose::nobody;
  if (!limit.inherited.empty() && !parse(limit.inherited)) {
    plan.warnings.push_back(
        fmt::format("{}={} in the environment is not understood, and counts "
                    "for nothing",
                    limit.variable, limit.inherited));
  } else if (!limit.inherited.empty()) {
    const bool is_of_run = facts.inherited_of_run == "1" ||  // as older ones say of both
                           facts.inherited_of_run.find(limit.word) != std::string::npos;
    whose = is_of_run ? Whose::run : Whose::environment;
  }
  if (limit.asked.empty()) return whose;
  if (whose == Whose::nobody) {
    plan.environment.push_back({limit.variable, limit.asked});
    return Whose::run;
  }
  if (whose == Whose::environment) {
    if (limit.inherited != limit.asked) {
      plan.warnings.push_back(fmt::format("{}={} in the environment counts more than {} {}",
                                          limit.variable, limit.inherited, limit.option,
                                          limit.asked));
    }
    return whose;
  }
  const Tightest both = choose(limit.inherited, limit.asked);
  if (both.text != limit.inherited) plan.environment.push_back({limit.variable, both.text});
  if (both.is_raising) {
    plan.warnings.push_back(
        fmt::format("{} {} counts for nothing: the nvshare run around this one has {} {}, which is "
                    "less",
                    limit.option, limit.asked, limit.option, limit.inherited));
  }
  return whose;
}

void plan_limits(const RunOptions& options, const RunFacts& facts, RunPlan& plan) {
  const LimitOption memory{"--memory", kMemoryVariable, "memory", options.memory,
                           facts.inherited_memory};
  const LimitOption cores{"--cores", kCoresVariable, "cores", options.cores, facts.inherited_cores};
  std::string of_run;
  const auto note = [&](const LimitOption& limit, Whose whose) {
    if (whose == Whose::run) of_run += (of_run.empty() ? "" : ",") + std::string(limit.word);
  };
  note(memory, plan_limit(memory, facts, parse_memory, tightest_memory, plan));
  note(cores, plan_limit(cores, facts, parse_cores, tightest_cores, plan));
  // Whose words they are, for those who look.
  if (of_run != facts.inherited_of_run) {
    plan.environment.push_back({"NVSHARE_LIMITS_OF_RUN", of_run});
  }
}

// The daemon is who holds programs to these.
void warn_of_what_nobody_keeps(const RunOptions& options, const RunFacts& facts, RunPlan& plan) {
  std::string asked;
  const auto add = [&asked](const char* option, const std::string& value) {
    if (value.empty()) return;
    asked += fmt::format("{}{} {}", asked.empty() ? "" : " and ", option, value);
  };
  add("--priority", options.priority);
  add("--memory", options.memory);
  add("--cores", options.cores);
  if (asked.empty()) return;
  if (options.disable) {
    plan.warnings.push_back(fmt::format("with --disable nothing keeps to {}", asked));
  } else if (facts.sharing && !facts.sharing->has_daemon) {
    plan.warnings.push_back(
        fmt::format("there is no daemon in {}: until one comes, nothing keeps to {}",
                    facts.sharing->folder, asked));
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
  warn_of_what_nobody_keeps(options, facts, plan);
  // Who switches the library off does not expect sharing.
  if (options.disable) return plan;
  plan_limits(options, facts, plan);
  if (const auto reason = why_not_shared(facts.target, facts.ours)) {
    plan.warnings.push_back(fmt::format("{} cannot be shared: {}", facts.target.path, *reason));
  }
  return plan;
}

}  // namespace nvs::cli
