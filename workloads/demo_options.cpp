// SPDX-License-Identifier: Apache-2.0
#include "workloads/demo_options.h"

#include <CLI/CLI.hpp>

namespace nvs::workloads {
namespace {

constexpr int kUsageError = 2;
constexpr double kQuickLength = 0.25;

}  // namespace

bool parse_demo_options(int argc, char** argv, DemoOptions& options, int& exit_code) {
  CLI::App app{
      "Shows GPU programs side by side under the node daemon, and who of them has the GPU: on the\n"
      "GPUs of this machine if there are any, else on simulated ones. At the end each program "
      "says\n"
      "whether all its data is right."};
  app.footer(
      "Exit codes: 0 all is right, 1 something is not, 2 a wrong command line, 3 no GPU with\n"
      "--gpu, 130 interrupted.");
  bool real = false, quick = false, no_daemon = false;
  std::string preset, progress = "auto";
  app.add_flag("--gpu", real, "Real GPUs only");
  app.add_option("--sim", preset, "Simulated GPUs only: t4 or h200")
      ->type_name("PRESET")
      ->check(CLI::IsMember({"t4", "h200"}).description(""))
      ->excludes("--gpu");
  app.add_option("--gpus", options.simulator.gpus, "How many GPUs to simulate (2)")
      ->check(CLI::Range(1, 16).description(""));
  app.add_option("--length", options.length, "Times the usual length (1)")
      ->check(CLI::PositiveNumber.description(""));
  app.add_flag("--quick", quick, "A quarter of the usual length");
  app.add_option(
         "--show", options.part,
         "sharing (all fits), quotas (caps on GPU time), swapping (more memory than there is, "
         "simulated) or all")
      ->type_name("PART")
      ->check(CLI::IsMember({"sharing", "quotas", "swapping", "all"}).description(""));
  app.add_flag("--no-daemon", no_daemon, "Let the driver share the GPUs, for comparison");
  app.add_option("--progress", progress,
                 "auto (live on a terminal, lines elsewhere), bar, lines or none")
      ->type_name("MODE")
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}).description(""));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : kUsageError;
    return false;
  }
  if (real) options.choice = GpuChoice::kRealOnly;
  if (!preset.empty()) {
    options.choice = GpuChoice::kSimulatedOnly;
    options.simulator.preset = preset;
  }
  if (quick) options.length *= kQuickLength;
  options.use_daemon = !no_daemon;
  options.progress = progress_mode(progress);
  return true;
}

}  // namespace nvs::workloads
