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

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "workloads/demo_crowds.h"
#include "workloads/demo_daemon.h"
#include "workloads/demo_options.h"
#include "workloads/demo_plan.h"
#include "workloads/demo_quota.h"
#include "workloads/demo_scene.h"
#include "workloads/platform.h"
#include "workloads/result_table.h"
#include "workloads/size.h"

namespace nvs::workloads {
namespace {

constexpr int kNoGpuCode = 3;
constexpr int kInterruptedCode = 130;
// No scene of usual length takes half of it; a tenant that hangs must not hang the demonstration.
constexpr double kSceneSecondsMax = 60;
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

bool is_interrupted() { return interrupted != 0; }

// Found once: a second look for a real driver would find the simulator, which is loaded by then.
const tl::expected<Platform, std::string>& platform_for(const DemoOptions& options) {
  static const auto platform = find_platform(options.choice, options.simulator);
  return platform;
}

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

// The error says why there is none.
tl::expected<std::unique_ptr<DemoDaemon>, std::string> start_daemon(const Platform& platform,
                                                                    bool wanted) {
  if (!wanted) return tl::unexpected(std::string("as asked for"));
  if (!kTenantsTakeLibrary) {
    return tl::unexpected(std::string("programs with a sanitizer take no library before it"));
  }
  const std::string folder = own_folder();
  const std::string simulated_nvml = folder + "/../lib/sim/libnvidia-ml.so.1";
  return DemoDaemon::start({.program = folder + "/nvshare-scheduler",
                            .library = folder + "/../lib/libnvshare.so",
                            .nvml_library = platform.simulated() ? simulated_nvml : ""})
      .map_error([](const std::string& why) { return "it cannot be started: " + why; });
}

Stage stage_on(const Platform& platform, DemoDaemon* daemon, const DemoOptions& options) {
  return {.driver_path = platform.driver_path,
          .environment = {},
          .daemon = daemon,
          .scale = 1,
          .timeout_seconds = timeout_for(platform, options.length),
          .progress = options.progress,
          .is_cancelled = is_interrupted};
}

SceneOutcome run_scene(const Scene& scene, const Stage& stage) {
  const ScenePlay play = play_scene(scene, stage, Shown::kGpus);
  if (interrupted != 0) return SceneOutcome::kInterrupted;
  if (!play.failure.empty()) {
    fmt::print(stderr, "nvshare-demo: {}\n", play.failure);
    return SceneOutcome::kSomeFailed;
  }
  const std::string failures = render_failures(play.tenants);
  fmt::print("{}{}", render_results(play.tenants), failures);
  const std::string got = play.shares.render_table();
  if (!got.empty()) fmt::print("\n{}", got);
  const std::string trouble = render_trouble(play);
  fmt::print("{}", trouble);
  std::fflush(stdout);
  return failures.empty() && trouble.empty() ? SceneOutcome::kAllPassed : SceneOutcome::kSomeFailed;
}

// The scenes in which everything fits.
SceneOutcome show_sharing(const DemoOptions& options) {
  const auto& platform = platform_for(options);
  if (!platform) {
    fmt::print(stderr, "nvshare-demo: {}\n", platform.error());
    return SceneOutcome::kSomeFailed;
  }
  const DemoPlan plan = plan_demo(platform->gpus, platform->memory_bytes, options.length);
  print_platform(*platform, plan);
  const auto daemon = start_daemon(*platform, options.use_daemon);
  if (!daemon) {
    // What follows is still worth showing.
    fmt::print("Without the daemon ({}): the driver's own time-slicing shares the GPUs.\n",
               daemon.error());
  }
  const Stage stage = stage_on(*platform, daemon ? daemon->get() : nullptr, options);
  bool good = true;
  for (const Scene& scene : plan.scenes) {
    const SceneOutcome outcome = run_scene(scene, stage);
    if (outcome == SceneOutcome::kInterrupted) return outcome;
    good &= outcome == SceneOutcome::kAllPassed;
  }
  fmt::print("\n");
  if (platform->simulated()) good &= print_simulator_verdict(*platform);
  return good ? SceneOutcome::kAllPassed : SceneOutcome::kSomeFailed;
}

SceneOutcome show_quota_part(const DemoOptions& options) {
  const auto& platform = platform_for(options);
  if (!platform) {
    fmt::print(stderr, "nvshare-demo: {}\n", platform.error());
    return SceneOutcome::kSomeFailed;
  }
  const auto daemon = start_daemon(*platform, options.use_daemon);
  if (!daemon) {
    fmt::print("\nQuotas need the daemon ({}), and are left out.\n", daemon.error());
    return SceneOutcome::kAllPassed;
  }
  fmt::print("\nQuotas of GPU time, on a {} {}\n", platform->simulated() ? "simulated" : "real",
             platform->gpu_name);
  bool good = show_quotas(stage_on(*platform, daemon->get(), options), options.length);
  if (is_interrupted()) return SceneOutcome::kInterrupted;
  if (platform->simulated()) good &= print_simulator_verdict(*platform);
  return good ? SceneOutcome::kAllPassed : SceneOutcome::kSomeFailed;
}

// Nothing to be shown where programs cannot share: there is not so much memory for them.
SceneOutcome show_swapping(const DemoOptions& options) {
  if (!options.use_daemon || !kTenantsTakeLibrary) return SceneOutcome::kAllPassed;
  switch (show_crowds({.programs = own_folder(),
                       .simulator = options.simulator.library,
                       .length = options.length,
                       .progress = options.progress,
                       .is_cancelled = is_interrupted})) {
    case CrowdOutcome::kGood:
      return SceneOutcome::kAllPassed;
    case CrowdOutcome::kBad:
      return SceneOutcome::kSomeFailed;
    case CrowdOutcome::kCancelled:
      break;
  }
  return SceneOutcome::kInterrupted;
}

int run_demo(const DemoOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  // Nothing is simulated for somebody who asked for none of it and has no GPU.
  if (options.choice == GpuChoice::kRealOnly && !platform_for(options)) {
    fmt::print(stderr, "nvshare-demo: {}; without --gpu it is shown on simulated ones\n",
               platform_for(options).error());
    return kNoGpuCode;
  }
  bool good = true;
  const struct {
    const char* name;
    SceneOutcome (*show)(const DemoOptions&);
  } parts[] = {{"sharing", show_sharing}, {"quotas", show_quota_part}, {"swapping", show_swapping}};
  for (const auto& [name, show] : parts) {
    if (options.part != "all" && options.part != name) continue;
    const SceneOutcome outcome = show(options);
    if (outcome == SceneOutcome::kInterrupted) {
      fmt::print("Interrupted; all tenants are gone.\n");
      return kInterruptedCode;
    }
    good &= outcome == SceneOutcome::kAllPassed;
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{} in {:.0f} s\n", good ? "PASS" : "FAIL", seconds.count());
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace nvs::workloads

int main(int argc, char** argv) try {
  nvs::workloads::DemoOptions options;
  options.simulator.library = nvs::workloads::own_folder() + "/../lib/sim/libcuda.so.1";
  int exit_code = EXIT_SUCCESS;
  if (!nvs::workloads::parse_demo_options(argc, argv, options, exit_code)) return exit_code;
  nvs::workloads::catch_interrupts();
  return nvs::workloads::run_demo(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "nvshare-demo: %s\n", error.what());
  return EXIT_FAILURE;
}
