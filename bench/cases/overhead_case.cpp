// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/overhead_case.h"

#include <filesystem>

#include <fmt/format.h>

#include "bench/built_files.h"
#include "bench/cases/overhead_part.h"
#include "bench/failure.h"
#include "bench/process_map.h"

namespace nvs::bench {
namespace overhead_case {
namespace {

namespace fs = std::filesystem;

constexpr double kReadySeconds = 60;

// The library's own settings are taken out, and on the simulator the program that is linked to
// libcuda.so.1 must find the simulated one.
Child::Environment common_environment(const Machine& machine) {
  Child::Environment result = {{"NVSHARE_DISABLE", ""}, {"NVSHARE_DEBUG", ""}};
  if (machine.simulated()) {
    const fs::path driver = value_of("NVSHARE_CUDA_LIBRARY");
    const std::string inherited = value_of("LD_LIBRARY_PATH");
    result["LD_LIBRARY_PATH"] =
        driver.parent_path().string() + (inherited.empty() ? "" : ":" + inherited);
  }
  return result;
}

}  // namespace

Started Part::start(Preload preload, const char* role) const {
  const bool with = preload == Preload::kLibrary;
  Child::Environment all = environment;
  all["LD_PRELOAD"] = with ? library : "";
  const std::string name = with ? "the program with the library" : "the bare program";
  Started result{std::make_unique<Child>(name, role, nlohmann::json::object(), all, program), {}};
  result.greeting = result.child->receive(kReadySeconds);
  // The loader only warns of what it cannot preload.
  if (find_memory(result.child->pid(), library).has_value() != with) {
    throw Failure(fmt::format("{} {} mapped into {}", library, with ? "is not" : "is", name));
  }
  return result;
}

}  // namespace overhead_case

void OverheadCase::run(const Bench& bench) const {
  using namespace overhead_case;
  Progress progress(name(), steps(bench));
  const Part part{bench, progress, find_library(bench.library),
                  existing(built("libexec/nvshare-overhead-probe"), "the program to measure with"),
                  common_environment(bench.machine)};
  count_instructions(part);
  if (bench.quick) return;
  measure_rates(part, ", no daemon");
  measure_under_daemon(part);
}

}  // namespace nvs::bench
