// SPDX-License-Identifier: Apache-2.0
// nvsharectl trace
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>

#include <unistd.h>

#include "base/result.h"
#include "cli/ctl/admin_client.h"
#include "cli/ctl/admin_messages.h"
#include "cli/ctl/commands.h"
#include "cli/ctl/exit_codes.h"
#include "cli/ctl/output_file.h"
#include "cli/ctl/trace_file.h"
#include "cli/ctl/units.h"

namespace nvs::cli {
namespace {

constexpr Duration kTracePatience = Duration::from_s(60);
constexpr double kProgressEvery_s = 0.2;

// The daemon remembers by itself; only a young one has not yet seen as much as was asked for.
void wait_until_remembered(double missing) {
  const bool shown = missing > 0 && ::isatty(STDERR_FILENO) == 1;
  if (missing > 0 && !shown) {
    std::fprintf(stderr, "nvsharectl: the daemon is young: waiting %s\n",
                 seconds_text(missing).c_str());
  }
  while (missing > 0) {
    if (shown) std::fprintf(stderr, "\rrecording: %.0f s to go \x1b[K", std::ceil(missing));
    const double pause = std::min(missing, kProgressEvery_s);
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
    missing -= pause;
  }
  if (shown) std::fputs("\r\x1b[K", stderr);
}

tl::unexpected<EarlyExit> cannot_write(const std::string& path, int error) {
  return failure(
      "cannot write " + path + ": " + std::strerror(error) + "; name another file with -o",
      kCtlFailed);
}

// Before anybody waits for the daemon. What is there is kept until there is something better.
Outcome<void> check_writable(const std::string& path) {
  if (path == "-") return {};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return cannot_write(path, EISDIR);
  if (::access(path.c_str(), W_OK) == 0) return {};
  if (errno != ENOENT) return cannot_write(path, errno);
  const std::string folder = std::filesystem::path(path).parent_path();
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) return {};
  return cannot_write(path, errno);
}

Outcome<std::string> trace(const CtlOptions& options) {
  NVS_TRY(check_writable(options.file));
  AdminClient daemon = NVS_TRY(AdminClient::connect(options.folder));
  const std::string seen = NVS_TRY(daemon.ask(status_request()));
  const NodeStatus node = NVS_TRY(status_of(seen));
  wait_until_remembered(options.seconds - node.uptime_s);
  const std::string answer = NVS_TRY(daemon.ask(trace_request(options.seconds), kTracePatience));
  TraceFile file = NVS_TRY(make_trace_file(answer));
  if (file.is_cut) {
    std::fprintf(stderr, "nvsharectl: only the newest %zu intervals: the daemon gives no more\n",
                 file.intervals);
  }
  if (options.file == "-") return std::move(file.text);
  const Result<void> written = write_output_file(options.file, file.text);
  if (!written) return cannot_write(options.file, written.error().sys);
  return options.file + ": " + std::to_string(file.intervals) + " intervals over " +
         seconds_text(file.seconds) + "; open it in https://ui.perfetto.dev\n";
}

}  // namespace

EarlyExit trace_command(const CtlOptions& options) {
  const Outcome<std::string> text = trace(options);
  return text ? EarlyExit{kExitOk, *text} : text.error();
}

}  // namespace nvs::cli
