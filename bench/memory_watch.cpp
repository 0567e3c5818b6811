// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_watch.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bench/failure.h"

namespace nvs::bench {
namespace {

constexpr double kWatchSeconds = 0.01;

std::set<std::uint64_t> tenants_named(const nlohmann::json& trace, const std::string& name) {
  std::set<std::uint64_t> result;
  for (const nlohmann::json& tenant : trace.at("tenants")) {
    if (tenant.at("name") == name) result.insert(tenant.at("id").get<std::uint64_t>());
  }
  return result;
}

}  // namespace

MemoryWatch::MemoryWatch(const DaemonProcess& daemon)
    : daemon_(daemon), thread_([this] { watch(); }) {}

MemoryWatch::~MemoryWatch() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
}

std::vector<Holding> MemoryWatch::finish() {
  over_ = true;
  thread_.join();
  if (!failure_.empty()) throw Failure(failure_);
  return std::move(holdings_);
}

void MemoryWatch::watch() {
  try {
    while (!over_) {
      const std::int64_t at_ns = now_ns();
      const std::vector<Holding> now = holdings_in(daemon_.status(), at_ns);
      holdings_.insert(holdings_.end(), now.begin(), now.end());
      sleep_until_ns(at_ns + nanoseconds(kWatchSeconds));
    }
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

std::vector<Holding> holdings_in(const nlohmann::json& status, std::int64_t at_ns) {
  std::vector<Holding> result;
  for (const nlohmann::json& tenant : status.at("tenants")) {
    if (tenant.at("clients").empty()) continue;
    for (const nlohmann::json& use : tenant.at("gpus")) {
      if (use.at("gpu") != 0 || !use.contains("resident_bytes")) continue;
      result.push_back({at_ns, tenant.at("clients")[0].at("pid").get<pid_t>(),
                        use.at("resident_bytes").get<double>(), use.value("swapped_bytes", 0.0),
                        use.value("copied_out_bytes", 0.0)});
    }
  }
  return result;
}

std::vector<Span> exchanges_in(const nlohmann::json& trace, const std::string& name,
                               std::int64_t from_ns, std::int64_t to_ns) {
  const std::set<std::uint64_t> named = tenants_named(trace, name);
  std::vector<Span> result;
  std::uint64_t had = 0;       // who had the last window
  std::int64_t ended_ns = -1;  // and when it ended
  for (const nlohmann::json& interval : trace.at("intervals")) {
    const auto tenant = interval.at("tenant").get<std::uint64_t>();
    if (interval.at("kind") == "wait" || named.count(tenant) == 0) continue;
    const std::int64_t start_ns = interval.at("start_us").get<std::int64_t>() * 1000;
    const std::int64_t end_ns = interval.at("end_us").get<std::int64_t>() * 1000;
    if (ended_ns >= from_ns && tenant != had && start_ns >= ended_ns && start_ns <= to_ns) {
      result.push_back({ended_ns, start_ns});
    }
    had = tenant;
    ended_ns = std::max(ended_ns, end_ns);
  }
  return result;
}

double bytes_exchanged(const std::vector<Holding>& holdings, const Span& exchange) {
  // The last that was seen of each tenant before it, the first after it.
  std::map<pid_t, double> before;
  std::map<pid_t, double> after;
  for (const Holding& holding : holdings) {
    if (holding.at_ns <= exchange.from_ns) before[holding.pid] = holding.away;
    if (holding.at_ns >= exchange.to_ns) after.emplace(holding.pid, holding.away);
  }
  double sum = 0;
  for (const auto& [pid, away] : before) sum += away;
  for (const auto& [pid, away] : after) sum += away;
  return sum;
}

std::optional<Moved> moved_in(const std::vector<Holding>& holdings) {
  if (holdings.empty()) return std::nullopt;
  Moved moved;
  std::map<pid_t, double> away;
  for (const Holding& holding : holdings) {
    const auto [before, is_new] = away.try_emplace(holding.pid, holding.away);
    const double change = holding.away - before->second;
    (change > 0 ? moved.out : moved.in) += std::fabs(change);
    before->second = holding.away;
  }
  return moved;
}

std::vector<Leave> leaves_of(const std::vector<Holding>& holdings, pid_t pid) {
  std::vector<Leave> result;
  const Holding* before = nullptr;
  bool leaving = false;
  for (const Holding& now : holdings) {
    if (now.pid != pid) continue;
    const double left = before != nullptr ? now.away - before->away : 0;
    if (left > 0) {
      if (!leaving) result.emplace_back();
      result.back().bytes += left;
      result.back().copied += now.copied - before->copied;
    }
    // It comes back in pieces too: only then the next leave is another one.
    if (left != 0) leaving = left > 0;
    before = &now;
  }
  return result;
}

}  // namespace nvs::bench
