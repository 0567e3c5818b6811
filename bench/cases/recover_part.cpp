// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/recover_part.h"

#include <algorithm>

#include <fmt/format.h>
#include <signal.h>

#include "bench/failure.h"

namespace nvs::bench::recover_case {
namespace {

constexpr double kPatienceSeconds = 10;
constexpr double kLookAgainSeconds = 0.002;
// Longer than any repetition.
constexpr double kVictimSeconds = 600;
// For a fault to come about, and then to watch what comes of it: longer than what is promised.
constexpr double kFaultSeconds = 2;
constexpr double kWatchedSeconds = 1.5;
constexpr double kPeriodSeconds = 0.100;
constexpr double kAwakeSeconds = 0.010;

Child::Environment with(Child::Environment environment, const Child::Environment& extra) {
  for (const auto& [name, value] : extra) environment[name] = value;
  return environment;
}

// Of the tenant of this process, on the GPU that it uses; null if there is none.
nlohmann::json on_gpu(const DaemonProcess& daemon, pid_t pid) {
  const std::optional<nlohmann::json> tenant = daemon.find_tenant(pid);
  return !tenant || tenant->at("gpus").empty() ? nullptr : tenant->at("gpus").at(0);
}

std::string states(const DaemonProcess& daemon) {
  const nlohmann::json status = daemon.status();
  std::string text;
  for (const nlohmann::json& tenant : status.at("tenants")) {
    for (const nlohmann::json& use : tenant.at("gpus")) text += " " + use.at("state").dump();
  }
  return text;
}

}  // namespace

void wait_until(const DaemonProcess& daemon, const std::string& what,
                const std::function<bool()>& is_so) {
  const std::int64_t deadline = now_ns() + nanoseconds(kPatienceSeconds);
  while (!is_so()) {
    if (now_ns() > deadline)
      throw Failure(fmt::format("there was never {}:{}", what, states(daemon)));
    sleep_until_ns(now_ns() + nanoseconds(kLookAgainSeconds));
  }
}

bool has_window(const DaemonProcess& daemon, pid_t pid) {
  const nlohmann::json use = on_gpu(daemon, pid);
  return !use.is_null() && use.at("state") == "running";
}

std::optional<double> windows_of(const DaemonProcess& daemon, pid_t pid) {
  const nlohmann::json use = on_gpu(daemon, pid);
  return use.is_null() ? std::nullopt : std::optional(use.at("windows").get<double>());
}

Victim::Victim(Sharing& sharing, const Child::Environment& extra)
    : tenants_(sharing.machine(), {with(sharing.daemon().tenant(), extra)}, sharing.loads()) {}

Victim::~Victim() {
  if (stutters_.joinable()) {
    stutters_.request_stop();
    stutters_.join();
  }
  send(SIGKILL);
  if (work_.valid()) work_.wait();
}

void Victim::work() {
  work_ = std::async(std::launch::async, [this] {
    try {
      tenants_.together({saturating(0, 0)}, kVictimSeconds);
    } catch (const Failure&) {
      // It was killed, as it should be, and has not answered.
    }
  });
}

void Victim::send(int signal) const { ::kill(pid(), signal); }

void Victim::stutter() {
  stutters_ = std::jthread([this](const std::stop_token& stop) {
    for (std::int64_t begin_ns = now_ns(); !stop.stop_requested();) {
      send(SIGSTOP);
      sleep_until_ns(begin_ns += nanoseconds(kPeriodSeconds - kAwakeSeconds));
      send(SIGCONT);
      sleep_until_ns(begin_ns += nanoseconds(kAwakeSeconds));
    }
  });
}

Other::Other(Sharing& sharing)
    : sharing_(sharing),
      tenants_(sharing.machine(), {sharing.daemon().tenant()}, sharing.loads()) {}

void Other::work() {
  const double seconds = kFaultSeconds + kWatchedSeconds;
  ends_at_ns_ = now_ns() + nanoseconds(seconds);
  work_ = std::async(std::launch::async,
                     [this, seconds] { return tenants_.together({noting(0, 0)}, seconds); });
}

double Other::longest_gap_ms(std::int64_t since_ns) {
  const std::vector<nlohmann::json> answers = work_.get();
  const std::int64_t until_ns = since_ns + nanoseconds(kWatchedSeconds);
  if (until_ns > ends_at_ns_) throw Failure("the fault came about too late to be watched");
  std::int64_t longest_ns = 0;
  std::int64_t before_ns = since_ns;
  for (const nlohmann::json& end : answers[0].at("ends_ns")) {
    const std::int64_t end_ns = std::clamp(end.get<std::int64_t>(), before_ns, until_ns);
    longest_ns = std::max(longest_ns, end_ns - before_ns);
    before_ns = end_ns;
  }
  return static_cast<double>(std::max(longest_ns, until_ns - before_ns)) * 1e-6;
}

}  // namespace nvs::bench::recover_case
