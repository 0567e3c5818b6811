// SPDX-License-Identifier: Apache-2.0
#include "bench/daemon_process.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "bench/built_files.h"
#include "bench/failure.h"
#include "os/unix_socket.h"
#include "wire/messages.h"

namespace nvs::bench {
namespace {

namespace fs = std::filesystem;

constexpr double kReadySeconds = 60;
constexpr double kAnswerSeconds = 30;
constexpr double kLookSeconds = 0.02;
// The fields of /proc/PID/stat after the name, which is in parentheses and may hold anything.
constexpr int kUserTimeField = 11;

// The answer to one admin command.
nlohmann::json ask(const std::string& folder, const nlohmann::json& request) {
  const Result<UniqueFd> fd =
      os::connect_unix(folder + "/" + wire::kAdminSocket, os::SocketKind::stream);
  if (!fd) throw Failure("the admin socket: " + fd.error().message());
  if (!write_line(fd->get(), request)) throw Failure("the admin socket takes no request");
  LineReader reader(fd->get());
  std::optional<nlohmann::json> answer = reader.next(now_ns() + nanoseconds(kAnswerSeconds));
  if (!answer) throw Failure("the admin socket was closed without an answer");
  if (!answer->value("ok", false)) throw Failure("refused: " + answer->dump());
  return answer->at("result");
}

// The daemon finds GPUs through NVML; the simulated one lies beside the simulated driver.
Child::Environment daemon_environment(const Machine& machine, const Child::Environment& extra) {
  Child::Environment result = extra;
  result["LD_PRELOAD"] = "";
  for (const char* ours :
       {"NVSHARE_LOG", "NVSHARE_DEBUG", "NVSHARE_SCHEDULING_MODE", "NVSHARE_SWITCH_TIME"}) {
    result[ours] = "";
  }
  if (machine.simulated() && result.count("NVSHARE_NVML") == 0) {
    const fs::path driver = value_of("NVSHARE_CUDA_LIBRARY");
    result["NVSHARE_NVML"] = (driver.parent_path() / "libnvidia-ml.so.1").string();
  }
  return result;
}

}  // namespace

DaemonProcess::DaemonProcess(const Bench& bench, const Child::Environment& extra,
                             const std::vector<std::string>& options)
    : library_(find_library(bench.library)),
      environment_(daemon_environment(bench.machine, extra)) {
  const std::string program = existing(built("bin/nvshare-scheduler"), "the daemon");
  command_ = {program, "--folder", folder_.path(), "--log-level", "warning"};
  command_.insert(command_.end(), options.begin(), options.end());
  if (std::find(options.begin(), options.end(), "--window") == options.end()) {
    const double window_ms = bench.machine.wall_seconds(kWindowSeconds) * 1e3;
    command_.insert(command_.end(), {"--window", fmt::format("{:.0f}ms", window_ms)});
  }
  start();
}

void DaemonProcess::start() {
  program_ = std::make_unique<Program>("the daemon", command_, folder_.path() + "/bench.log",
                                       environment_);
  wait_until_ready();
}

std::int64_t DaemonProcess::crash_and_restart() {
  ::kill(pid(), SIGKILL);
  program_->wait(kAnswerSeconds);
  const std::int64_t started_ns = now_ns();
  start();
  return started_ns;
}

DaemonProcess::~DaemonProcess() { program_->terminate(); }

void DaemonProcess::wait_until_ready() const {
  const std::int64_t deadline = now_ns() + nanoseconds(kReadySeconds);
  for (;;) {
    try {
      ask(folder(), {{"command", "status"}});
      return;
    } catch (const Failure& failure) {
      if (!program_->running()) throw Failure("the daemon ended at once:\n" + log_text());
      if (now_ns() > deadline) {
        throw Failure(
            fmt::format("the daemon does not get ready ({}):\n{}", failure.what(), log_text()));
      }
    }
    sleep_until_ns(now_ns() + nanoseconds(kLookSeconds));
  }
}

Child::Environment DaemonProcess::tenant(const std::string& priority) const {
  Child::Environment result = bare_tenant();
  result["LD_PRELOAD"] = library_;
  result["NVSHARE_FOLDER"] = folder();
  result["NVSHARE_PRIORITY"] = priority;
  return result;
}

nlohmann::json DaemonProcess::ask_or_explain(const nlohmann::json& request) const {
  try {
    return ask(folder(), request);
  } catch (const std::exception& error) {
    throw Failure(
        fmt::format("the daemon's answer to {}: {}\n{}", request.dump(), error.what(), log_text()));
  }
}

nlohmann::json DaemonProcess::status() const { return ask_or_explain({{"command", "status"}}); }

nlohmann::json DaemonProcess::trace(double last_s) const {
  return ask_or_explain({{"command", "trace"}, {"seconds", last_s}});
}

double DaemonProcess::switches() const {
  const nlohmann::json now = status();
  double sum = 0;
  for (const nlohmann::json& gpu : now.at("gpus")) sum += gpu.at("switches").get<double>();
  return sum;
}

std::optional<nlohmann::json> DaemonProcess::find_tenant(pid_t pid) const {
  const nlohmann::json now = status();
  for (const nlohmann::json& tenant : now.at("tenants")) {
    for (const nlohmann::json& client : tenant.at("clients")) {
      if (client.at("pid") == pid) return tenant;
    }
  }
  return std::nullopt;
}

nlohmann::json DaemonProcess::tenant_of(pid_t pid) const {
  if (std::optional<nlohmann::json> tenant = find_tenant(pid)) return *std::move(tenant);
  throw Failure(fmt::format("process {} is no tenant of the daemon:\n{}", pid, log_text()));
}

void DaemonProcess::set_cores(std::uint64_t tenant, int percent) const {
  const std::string cores = percent == 0 ? "none" : std::to_string(percent);
  ask_or_explain({{"command", "limit"}, {"tenant", tenant}, {"cores", cores}});
}

void DaemonProcess::set_mode(const std::string& mode) const {
  ask_or_explain({{"command", "set"}, {"gpu", "all"}, {"mode", mode}});
}

void DaemonProcess::expect_clients(std::size_t count) const {
  const nlohmann::json now = status();
  std::size_t found = 0;
  for (const nlohmann::json& tenant : now.at("tenants")) found += tenant.at("clients").size();
  if (found != count) {
    throw Failure(fmt::format("{} clients should be connected to the daemon, and {} are:\n{}",
                              count, found, log_text()));
  }
}

double DaemonProcess::cpu_seconds() const {
  const std::ifstream file(fmt::format("/proc/{}/stat", pid()));
  std::ostringstream text;
  text << file.rdbuf();
  return static_cast<double>(cpu_ticks(text.str())) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

Child::Environment bare_tenant() {
  return {{"LD_PRELOAD", ""}, {"NVSHARE_DISABLE", ""}, {"NVSHARE_DEBUG", ""}};
}

std::uint64_t cpu_ticks(const std::string& stat) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) throw Failure("no processor time in '" + stat + "'");
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int i = 0; i < kUserTimeField; ++i) fields >> skipped;
  std::uint64_t user = 0;
  std::uint64_t system = 0;
  if (!(fields >> user >> system)) throw Failure("no processor time in '" + stat + "'");
  return user + system;
}

}  // namespace nvs::bench
