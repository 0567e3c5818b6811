// SPDX-License-Identifier: Apache-2.0
// nvshare-scheduler: see --help.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/gpu_search.h"
#include "daemon/memory_watch.h"
#include "daemon/options.h"
#include "os/signals.h"

namespace nvs::daemon {
namespace {

int end_early(const EarlyExit& exit) {
  if (exit.code != 0) {
    std::fprintf(stderr, "nvshare-scheduler: %s (see nvshare-scheduler --help)\n",
                 exit.text.c_str());
    return exit.code;
  }
  const bool is_written = std::fputs(exit.text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (is_written) return exit.code;
  std::fputs("nvshare-scheduler: cannot write the output\n", stderr);
  return kExitFailed;
}

Environment read_environment() {
  Environment environment;
#define NVS_DAEMON_SETTING(variable, field, flag, help) environment.field = std::getenv(#variable);
#include "spec/daemon_settings.def"
#undef NVS_DAEMON_SETTING
  environment.kube = {std::getenv("KUBERNETES_SERVICE_HOST"),
                      std::getenv("KUBERNETES_SERVICE_PORT"), std::getenv("NODE_NAME")};
  return environment;
}

int run(std::vector<std::string> arguments) {
  const auto options = parse_options(std::move(arguments), read_environment());
  if (!options) return end_early(options.error());
  start_log(options->log_levels, log_style(STDERR_FILENO, std::getenv("JOURNAL_STREAM")));
  // A log that nobody reads any more must not end the daemon, nor a terminal that is closed.
  for (const int ignored : {SIGPIPE, SIGHUP}) {
    const Result<void> done = os::ignore_signal(ignored);
    if (!done) log(Level::warning, "a signal may end the daemon", {{"signal", ignored}});
  }
  const ServiceEnvironment service{std::getenv("NOTIFY_SOCKET"), std::getenv("WATCHDOG_USEC"),
                                   std::getenv("WATCHDOG_PID")};
  const auto daemon = Daemon::create(*options, service);
  if (!daemon) {
    log(Level::error, "cannot start", {{"error", daemon.error()}});
    return kExitFailed;
  }
  const auto done = (*daemon)->run();
  if (!done) {
    log(Level::error, "ended", {{"error", done.error()}});
    return kExitFailed;
  }
  return 0;
}

}  // namespace
}  // namespace nvs::daemon

int main(int argc, char** argv) {
  const int code = nvs::daemon::run(std::vector<std::string>(argv + 1, argv + argc));
  // exit() would have NVML destroy what the thread in it still uses.
  const bool is_thread_left =
      nvs::daemon::MemoryWatch::has_left_thread() || nvs::daemon::GpuSearch::has_left_thread();
  if (is_thread_left) ::_exit(code);
  return code;
}
