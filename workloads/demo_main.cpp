// SPDX-License-Identifier: Apache-2.0
// nvshare-demo: workloads side by side under the node daemon, on the GPUs of this machine or on
// simulated ones, who of them holds the GPU, and tables of what became of them.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "workloads/demo_daemon.h"
#include "workloads/demo_plan.h"
#include "workloads/live_view.h"
#include "workloads/platform.h"
#include "workloads/result_table.h"
#include "workloads/runner.h"
#include "workloads/share_view.h"
#include "workloads/size.h"

namespace nvs::workloads {
namespace {

constexpr int kUsageError = 2;
constexpr int kInterruptedCode = 130;
// No scene of usual length takes half of it; a tenant that hangs must not hang the demonstration.
constexpr double kSceneSecondsMax = 60;
constexpr double kQuickLength = 0.25;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// A sanitizer's runtime must be the first library of a program.
constexpr bool kTenantsTakeLibrary = false;
#else
constexpr bool kTenantsTakeLibrary = true;
#endif

volatile std::sig_atomic_t interrupted = 0;

// The second signal of a kind finds the default action again, should the first one not be enough.
void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    ::sigaction(signal, &action, nullptr);
  }
}

struct DemoOptions {
  GpuChoice choice = GpuChoice::kWhatIsThere;
  SimulatorSettings simulator;
  bool use_daemon = true;
  double length = 1;
  ProgressMode progress = ProgressMode::kAuto;
};

void print_platform(const Platform& platform, const DemoPlan& plan) {
  fmt::print("{} {} {} of {}\n", platform.gpus, platform.simulated() ? "simulated" : "real",
             platform.gpu_name, format_size(platform.memory_bytes));
  if (plan.size_factor < 1) {
    fmt::print("All sizes are {:.0f} % of what the names say, to fit.\n", plan.size_factor * 100);
  }
}

// What only the simulator can tell: whether anybody broke the rules of the driver API, and whether
// this machine was fast enough for the times to be right.
bool print_simulator_verdict(const Platform& platform) {
  const CusimApi& sim = *platform.driver.sim();
  unsigned long long overrun_ns = 0, busy_ns = 0;
  for (int gpu = 0; gpu < platform.gpus; ++gpu) {
    unsigned long long overrun = 0, busy = 0;
    if (sim.cusimOverrun(gpu, &overrun, &busy) != 0) continue;
    overrun_ns += overrun;
    busy_ns += busy;
  }
  const unsigned long long violations = sim.cusimViolationCount();
  fmt::print(
      "The simulator ran {:.1f} % behind its clock and saw {} violations.\n",
      busy_ns == 0 ? 0.0 : 100.0 * static_cast<double>(overrun_ns) / static_cast<double>(busy_ns),
      violations);
  if (violations == 0) return true;
  std::vector<char> text(sim.cusimViolationText(nullptr, 0) + 1);
  sim.cusimViolationText(text.data(), text.size());
  fmt::print("{}\n", text.data());
  return false;
}

enum class SceneOutcome { kAllPassed, kSomeFailed, kInterrupted };

// Longer where all is slowed down on purpose.
double timeout_for(const Platform& platform, double length) {
  const double time_factor = platform.simulated() ? platform.driver.sim()->cusimTimeFactor() : 1;
  return kSceneSecondsMax * std::max(1.0, length) * std::max(1.0, time_factor);
}

// What follows a scene is still worth showing when there is no daemon: then the driver shares.
std::unique_ptr<DemoDaemon> start_daemon(const Platform& platform, bool wanted) {
  const std::string folder = own_folder();
  std::string why;
  if (!wanted) {
    why = "as asked for";
  } else if (!kTenantsTakeLibrary) {
    why = "programs with a sanitizer take no library before it";
  } else {
    const std::string simulated_nvml = folder + "/../lib/sim/libnvidia-ml.so.1";
    auto daemon = DemoDaemon::start({.program = folder + "/nvshare-scheduler",
                                     .library = folder + "/../lib/libnvshare.so",
                                     .nvml_library = platform.simulated() ? simulated_nvml : ""});
    if (daemon) return *std::move(daemon);
    why = "it cannot be started: " + daemon.error();
  }
  fmt::print("Without the daemon ({}): the driver's own time-slicing shares the GPUs.\n", why);
  return nullptr;
}

std::vector<TenantSpec> tenants_of(const Scene& scene, const Platform& platform,
                                   const DemoDaemon* daemon) {
  std::vector<TenantSpec> specs = scene.tenants;
  for (TenantSpec& spec : specs) {
    if (!platform.driver_path.empty()) {
      spec.arguments.insert(spec.arguments.end(), {"--driver", platform.driver_path});
    }
    if (daemon != nullptr) spec.environment = daemon->tenant_environment();
  }
  return specs;
}

SceneOutcome run_scene(const Scene& scene, const Platform& platform, DemoDaemon* daemon,
                       const DemoOptions& demo) {
  fmt::print("\n{}\n", scene.title);
  std::fflush(stdout);
  LiveView view(demo.progress);
  ShareView shares;
  std::string daemon_trouble;
  RunnerOptions options;
  options.timeout_seconds = timeout_for(platform, demo.length);
  options.on_update = [&](std::span<const Tenant> tenants) {
    if (daemon != nullptr) {
      const auto status = daemon->status();
      if (status) shares.take(*status, tenants);
      daemon_trouble = status ? "" : status.error().message();
    }
    view.update(tenants, shares.render_gpus());
  };
  options.is_cancelled = [] { return interrupted != 0; };
  const auto tenants = run_tenants(tenants_of(scene, platform, daemon), options);
  view.clear();
  if (interrupted != 0) return SceneOutcome::kInterrupted;
  if (!tenants) {
    fmt::print(stderr, "nvshare-demo: {}\n", tenants.error().message());
    return SceneOutcome::kSomeFailed;
  }
  const std::string failures = render_failures(*tenants);
  fmt::print("{}{}", render_results(*tenants), failures);
  const std::string got = shares.render_table();
  if (!got.empty()) fmt::print("\n{}", got);
  if (!daemon_trouble.empty()) fmt::print("The daemon's status: {}\n", daemon_trouble);
  const std::vector<std::string> lost = shares.lost();
  for (const std::string& label : lost) {
    fmt::print("{} was not with the daemon while it ran: the shares above are wrong.\n", label);
  }
  std::fflush(stdout);
  const bool good = failures.empty() && daemon_trouble.empty() && lost.empty();
  return good ? SceneOutcome::kAllPassed : SceneOutcome::kSomeFailed;
}

int run_demo(const DemoOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const auto platform = find_platform(options.choice, options.simulator);
  if (!platform) {
    fmt::print(stderr, "nvshare-demo: {}\n", platform.error());
    return EXIT_FAILURE;
  }
  const DemoPlan plan = plan_demo(platform->gpus, platform->memory_bytes, options.length);
  print_platform(*platform, plan);
  const std::unique_ptr<DemoDaemon> daemon = start_daemon(*platform, options.use_daemon);
  bool good = true;
  for (const Scene& scene : plan.scenes) {
    const SceneOutcome outcome = run_scene(scene, *platform, daemon.get(), options);
    if (outcome == SceneOutcome::kInterrupted) {
      fmt::print("Interrupted; all tenants are gone.\n");
      return kInterruptedCode;
    }
    good &= outcome == SceneOutcome::kAllPassed;
  }
  fmt::print("\n");
  if (platform->simulated()) good &= print_simulator_verdict(*platform);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{} in {:.0f} s\n", good ? "PASS" : "FAIL", seconds.count());
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool parse_options(int argc, char** argv, DemoOptions& options, int& exit_code) {
  CLI::App app{
      "Shows GPU programs side by side under the node daemon, and who of them has the GPU: on the\n"
      "GPUs of this machine if there are any, else on simulated ones. At the end each program "
      "says\n"
      "whether all its data is right."};
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

}  // namespace
}  // namespace nvs::workloads

int main(int argc, char** argv) try {
  nvs::workloads::DemoOptions options;
  options.simulator.library = nvs::workloads::own_folder() + "/../lib/sim/libcuda.so.1";
  int exit_code = EXIT_SUCCESS;
  if (!nvs::workloads::parse_options(argc, argv, options, exit_code)) return exit_code;
  nvs::workloads::catch_interrupts();
  return nvs::workloads::run_demo(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "nvshare-demo: %s\n", error.what());
  return EXIT_FAILURE;
}
