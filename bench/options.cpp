// SPDX-License-Identifier: Apache-2.0
#include "bench/options.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nvs::bench {
namespace {

constexpr std::array<std::string_view, 2> kPresets = {"h200", "t4"};
constexpr unsigned kGpusMax = 16;
constexpr unsigned kScaleMax = 512;  // as spec/sim_settings.def has it
constexpr double kTimeFactorMin = 0.01;
constexpr double kTimeFactorMax = 100;

constexpr const char* kDescription =
    "Measures nvshare and what it stands on, on a GPU or on the simulator, and says whether each "
    "figure is what it should be.";

std::string footer(const std::vector<CaseName>& cases) {
  return fmt::format(
      "Cases:\n{}\n"
      "Rows. FACTS is the figure that FACTS.md holds for an H200, in `seeds` that of the seeds' "
      "two "
      "T4s; a row with a target must lie in it.\n"
      "Times and rates are nominal: the simulator's scale and time factor are taken out again.\n"
      "A row is `invalid` where the simulator was over 1 % late against its own model: the machine "
      "was too busy.\n\n"
      "Exit codes: 0 done, 1 a target missed or a row invalid (with --check), 2 bad input, 3 a "
      "measurement failed.\n\n"
      "Examples:\n"
      "  nvshare-bench driver                      on the GPU, else on a simulated H200\n"
      "  nvshare-bench driver --sim t4 --quick     a simulated T4, in half a minute\n"
      "  nvshare-bench driver --gpu --check        for CI on a GPU machine\n"
      "  nvshare-bench overhead --sim h200         what the library costs, counted\n"
      "  nvshare-bench pair latency idle streams --gpu  what sharing costs under the daemon\n"
      "  nvshare-bench fits oversub swap --gpu     more memory in use than the GPU has\n"
      "  nvshare-bench seeds --sim t4 --gpus 2     the seeds' tests and quotas, as tables\n"
      "  nvshare-bench driver --json | jq -r '[.what, .value, .unit] | @tsv'\n",
      list_of(cases));
}

EarlyExit bad_input(const std::string& message) {
  return {kExitBadInput, fmt::format("nvshare-bench: {}\nRun nvshare-bench --help.\n", message)};
}

void declare(CLI::App& app, Options& options) {
  app.add_option("CASE", options.cases, "what to measure: one case or several (see below)");
  app.add_flag("--list", options.list, "list the cases and end");
  app.add_option("--sim", options.simulator.preset, "run on the simulator, as this GPU: h200 or t4")
      ->type_name("PRESET");
  app.add_flag_callback(
      "--gpu", [&] { options.backend = Backend::kGpu; },
      "run on the GPU; without --gpu and --sim: on the GPU if there is one");
  app.add_flag("--quick", options.quick,
               "smaller and fewer repetitions: about a minute a case (seeds: two)");
  app.add_flag_callback(
      "--json", [&] { options.format = Format::kJson; },
      "print one JSON object a row in place of the table");
  app.add_flag("--check", options.check, "exit 1 where a target is missed or a row is invalid");
  app.add_option("--library", options.library,
                 "the libnvshare.so to measure ($NVSHARE_LIBRARY, else the one built beside)")
      ->type_name("FILE");
  app.add_option("--python", options.python,
                 "the folder of tq.py: for the cases in PyTorch, and more rows of latency")
      ->type_name("FOLDER");
  app.add_option("--gpus", options.simulator.gpus, "simulated GPUs (1, or what the case needs)")
      ->type_name("N");
  app.add_option("--scale", options.simulator.scale, "simulated memory is N times smaller (64)")
      ->type_name("N");
  app.add_option("--time-factor", options.simulator.time_factor,
                 "all simulated times are X times as long (1, or what the case needs)")
      ->type_name("X");
}

// CLI11 says where a value does not parse; what a value may be is said here, in words.
std::string complaint(const CLI::App& app, const Options& options,
                      const std::vector<CaseName>& known_cases) {
  const SimulatorOptions& sim = options.simulator;
  const bool on_sim = app.count("--sim") > 0;
  if (on_sim && app.count("--gpu") > 0) return "--sim and --gpu exclude each other";
  if (on_sim && !options.python.empty()) return "--python needs a GPU: PyTorch knows no simulator";
  if (on_sim && std::find(kPresets.begin(), kPresets.end(), sim.preset) == kPresets.end()) {
    return fmt::format("no preset '{}': --sim takes one of {}", sim.preset,
                       fmt::join(kPresets, ", "));
  }
  for (const char* name : {"--gpus", "--scale", "--time-factor"}) {
    if (app.count(name) > 0 && !on_sim) {
      return fmt::format("{} shapes the simulator: it needs --sim", name);
    }
  }
  if (sim.gpus && (*sim.gpus < 1 || *sim.gpus > kGpusMax)) {
    return fmt::format("--gpus must be 1 to {}", kGpusMax);
  }
  if (sim.scale && (!std::has_single_bit(*sim.scale) || *sim.scale > kScaleMax)) {
    return fmt::format("--scale must be a power of two, 1 to {}", kScaleMax);
  }
  if (sim.time_factor &&
      !(*sim.time_factor >= kTimeFactorMin && *sim.time_factor <= kTimeFactorMax)) {
    return fmt::format("--time-factor must be {} to {}", kTimeFactorMin, kTimeFactorMax);
  }
  if (options.list) return "";
  std::vector<std::string> names;
  names.reserve(known_cases.size());
  for (const CaseName& known : known_cases) names.push_back(known.name);
  if (options.cases.empty()) {
    return fmt::format("name a case to run: {}", fmt::join(names, ", "));
  }
  for (const std::string& name : options.cases) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return fmt::format("no case '{}': the cases are {}", name, fmt::join(names, ", "));
    }
  }
  return "";
}

}  // namespace

std::string list_of(const std::vector<CaseName>& cases) {
  std::size_t width = 0;
  for (const CaseName& item : cases) width = std::max(width, item.name.size());
  std::string text;
  for (const CaseName& item : cases) {
    text += fmt::format("  {:<{}}  {}\n", item.name, width, item.summary);
  }
  return text;
}

tl::expected<Options, EarlyExit> parse_options(const std::vector<std::string>& arguments,
                                               const std::vector<CaseName>& known_cases) {
  CLI::App app{kDescription, "nvshare-bench"};
  Options options;
  declare(app, options);
  app.footer(footer(known_cases));
  try {
    // CLI11 takes a vector from its end.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return tl::unexpected(EarlyExit{kExitOk, app.help()});
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(bad_input(error.what()));
  }
  const std::string wrong = complaint(app, options, known_cases);
  if (!wrong.empty()) return tl::unexpected(bad_input(wrong));
  if (app.count("--sim") > 0) options.backend = Backend::kSimulator;
  return options;
}

}  // namespace nvs::bench
