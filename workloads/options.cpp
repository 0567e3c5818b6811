// SPDX-License-Identifier: Apache-2.0
#include "workloads/options.h"

#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "workloads/size.h"

namespace nvs::workloads {
namespace {

constexpr int kUsageError = 2;

std::string workload_list() {
  std::string text = "Workloads:\n";
  for (const WorkloadKind& kind : all_workloads()) {
    text += fmt::format("  {:10} {:>8}  {}\n", kind.name, format_size(kind.bytes), kind.summary);
  }
  return text +
         "\nSizes are nominal: on the simulator, whose memory is scaled down, they are divided by "
         "its scale.\n"
         "Without --iterations and --seconds a workload takes some 15 s on a GPU of its own (T4 or "
         "H200).\n"
         "At the end all data is compared with what it should be, on the GPU and by samples on the "
         "host:\n"
         "PASS is exit code 0, FAIL and errors are 1.\n"
         "\nExamples:\n"
         "  nvshare-workload add\n"
         "  nvshare-workload add-small --size 2G --seconds 5\n"
         "  nvshare-workload infer --device 1 --iterations 100 --rewrite\n"
         "  NVSHARE_SIM_PRESET=t4 nvshare-workload graph --driver build/lib/sim/libcuda.so.1\n";
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const WorkloadKind& kind : all_workloads()) result.emplace_back(kind.name);
  return result;
}

std::string check_size(const std::string& text) {
  return parse_size(text) ? "" : fmt::format("'{}' is no size such as 12G, 4096MiB or 1.5GB", text);
}

}  // namespace

bool parse_options(int argc, char** argv, Options& options, int& exit_code) {
  CLI::App app{"Runs one GPU workload and says whether its data survived."};
  app.footer(workload_list());
  app.set_version_flag("--version", "nvshare-workload " NVS_VERSION, "Print the version and exit");
  std::string name, size, progress = "auto";
  bool rewrite = false, managed = false;
  app.add_option("workload", name, "Which one; see the list below")
      ->required()
      ->type_name("NAME")
      ->check(CLI::IsMember(names()).description(""));
  app.add_option("--size", size, "Device memory to use: 12G, 4096MiB, 1.5GB")
      ->type_name("SIZE")
      ->check(CLI::Validator(check_size, ""));
  app.add_option("--iterations", options.run.iterations, "Stop after so many iterations")
      ->check(CLI::PositiveNumber.description(""));
  app.add_option("--seconds", options.run.seconds, "Stop after so many seconds")
      ->check(CLI::PositiveNumber.description(""));
  app.add_option("--length", options.run.length,
                 "Times the usual number of iterations, if neither is given")
      ->check(CLI::PositiveNumber.description(""));
  app.add_flag("--rewrite", rewrite, "Change all data in each iteration, inputs and weights too");
  app.add_flag("--managed", managed,
               "Use Unified Memory. With more of it in use than a GPU has, this can hang the card");
  app.add_option("--device", options.gpu.device, "Number of the GPU")
      ->check(CLI::NonNegativeNumber.description(""));
  app.add_option("--scale", options.gpu.scale,
                 "Divide sizes by this; the simulator is asked if it is not given")
      ->check(CLI::PositiveNumber.description(""));
  app.add_option("--driver", options.gpu.driver_path,
                 "The CUDA driver library; else $NVSHARE_CUDA_LIBRARY, else libcuda.so.1")
      ->type_name("PATH");
  app.add_option("--name", options.label, "What to call this run in all output")
      ->type_name("LABEL");
  app.add_option("--progress", progress,
                 "auto (a bar on a terminal, lines elsewhere), bar, lines or none")
      ->type_name("MODE")
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}).description(""));
  app.add_option("--status-fd", options.status_fd,
                 "Write what happens to this descriptor, one JSON object a line")
      ->type_name("FD");
  app.add_option(
         "--start-fd", options.start_fd,
         "When ready, read a line from this descriptor: the time to start at, in seconds of "
         "CLOCK_MONOTONIC")
      ->type_name("FD");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    exit_code = app.exit(error) == 0 ? 0 : kUsageError;
    return false;
  }
  options.kind = find_workload(name);
  options.run.bytes = size.empty() ? options.kind->bytes : *parse_size(size);
  options.rewrite = rewrite ? Rewrite::kAll : Rewrite::kAsNeeded;
  if (managed) options.gpu.memory = MemoryKind::kManaged;
  options.progress = progress_mode(progress);
  if (options.label.empty()) options.label = name;
  return true;
}

}  // namespace nvs::workloads
