// SPDX-License-Identifier: Apache-2.0
// The node daemon for one benchmark: nvshare-scheduler in a temporary folder, seen ready before
// anything is measured, asked for its status over the admin socket, and gone with the benchmark.
// Its log is shown where it fails.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/case.h"
#include "bench/child.h"
#include "bench/program.h"
#include "bench/temporary_folder.h"

namespace nvs::bench {

// The window that the daemon has by default, on the machine that is modelled. A simulator whose
// times are dilated gets windows that are longer by the same factor.
inline constexpr double kWindowSeconds = 0.080;

class DaemonProcess {
 public:
  // Throws Failure, with its log, if it is not built or does not get ready. `extra` is added to its
  // environment, `options` to its command line, which may name another window.
  explicit DaemonProcess(const Bench& bench, const Child::Environment& extra = {},
                         const std::vector<std::string>& options = {});
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  // Kills it as a crash does, and starts it again in its folder. Returns when it is ready: when the
  // new one was started, which is when nothing was left of the old one.
  std::int64_t crash_and_restart();

  pid_t pid() const { return program_->pid(); }
  const std::string& folder() const { return folder_.path(); }
  // Of a tenant under this daemon: the library, and where the daemon is.
  Child::Environment tenant(const std::string& priority = "normal") const;

  // The result of the admin command `status`. Throws Failure, with the daemon's log.
  nlohmann::json status() const;
  // The result of `trace`, for the last so many seconds on the wall clock.
  nlohmann::json trace(double last_s) const;
  // Windows that went to another tenant than the one before, over all GPUs, since its start.
  double switches() const;
  // Of the tenant that this process belongs to, as status has it. Throws Failure if there is none.
  nlohmann::json tenant_of(pid_t pid) const;
  // The same; nothing if there is none.
  std::optional<nlohmann::json> find_tenant(pid_t pid) const;
  // The most that a tenant may have of a GPU's time, in percent; 0: no such limit.
  void set_cores(std::uint64_t tenant, int percent) const;
  // How all GPUs are shared: auto, serial or concurrent.
  void set_mode(const std::string& mode) const;
  // Throws Failure unless so many clients are connected: rows of tenants that the daemon never saw
  // would be about something else.
  void expect_clients(std::size_t count) const;
  // Processor time that it has used since its start.
  double cpu_seconds() const;

 private:
  void start();
  void wait_until_ready() const;
  nlohmann::json ask_or_explain(const nlohmann::json& request) const;
  std::string log_text() const { return program_->last_lines(); }

  TemporaryFolder folder_;
  std::string library_;
  std::vector<std::string> command_;
  Child::Environment environment_;
  std::unique_ptr<Program> program_;
};

// Of a tenant without any of nvshare, beside tenants of a daemon.
Child::Environment bare_tenant();

// Processor time in the text of /proc/PID/stat, in clock ticks. Throws Failure if it is none.
std::uint64_t cpu_ticks(const std::string& stat);

}  // namespace nvs::bench
