// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/quota_part.h"

#include <algorithm>
#include <future>

#include <fmt/format.h>

#include "bench/failure.h"

namespace nvs::bench::quota_case {
namespace {

constexpr double kPeriodSeconds = 0.2;
// Fifty periods: what is dilated must leave time for second tries.
constexpr double kSimulatedWindowSeconds = 10;
// Bills are looked at so far from both ends of a window, which begins a little late.
constexpr double kInsideSeconds = 0.2;

}  // namespace

QuotaPlan quota_plan_for(const Bench& bench) {
  if (bench.quick) return {1, 0.6, 4, {25, 75}};
  return {1, 2, 20, {10, 25, 30, 50, 60, 75, 90}};
}

QuotaPlan quota_plan_together(const Bench& bench) {
  QuotaPlan plan = quota_plan_for(bench);
  if (bench.machine.simulated()) plan.window_s = std::min(plan.window_s, kSimulatedWindowSeconds);
  return plan;
}

Target near(double percent, double points) { return {percent - points, percent + points}; }

std::vector<std::string> daemon_options(const Bench& bench) {
  const double period_ms = bench.machine.wall_seconds(kPeriodSeconds) * 1e3;
  return {"--quota-period", fmt::format("{:.0f}ms", period_ms)};
}

std::vector<Child::Environment> normal_tenants(const Sharing& sharing, std::size_t count) {
  return std::vector<Child::Environment>(count, sharing.daemon().tenant());
}

double used_s(const Sharing& sharing, pid_t pid) { return had(sharing, pid).used_s; }

CappedTenants::CappedTenants(Sharing& sharing, const std::vector<Child::Environment>& each)
    : sharing_(sharing), tenants_(sharing.machine(), each, sharing.loads()) {
  sharing.daemon().expect_clients(each.size());
}

nlohmann::json CappedTenants::status_of(std::size_t tenant) const {
  return sharing_.daemon().tenant_of(tenants_.pid(tenant));
}

void CappedTenants::cap(std::size_t tenant, int percent) const {
  sharing_.daemon().set_cores(status_of(tenant).at("id").get<std::uint64_t>(), percent);
}

double CappedTenants::solo_rate(std::size_t load, double seconds) {
  cap(0, 0);
  return sharing_.rate_alone(tenants_, load, seconds);
}

std::vector<nlohmann::json> CappedTenants::measure(const std::vector<Task>& tasks,
                                                   const QuotaPlan& plan) {
  return sharing_.on_time([&] { return measure_once(tasks, plan); });
}

std::vector<nlohmann::json> CappedTenants::measure_once(const std::vector<Task>& tasks,
                                                        const QuotaPlan& plan) {
  tenants_.set_run_in(plan.settle_s);
  return tenants_.together(tasks, sharing_.machine().wall_seconds(plan.window_s));
}

CappedTenants::Billed CappedTenants::measure_billed(const std::vector<Task>& tasks,
                                                    const QuotaPlan& plan) {
  return sharing_.on_time([&] { return measure_billed_once(tasks, plan); });
}

CappedTenants::Billed CappedTenants::measure_billed_once(const std::vector<Task>& tasks,
                                                         const QuotaPlan& plan) {
  auto work = std::async(std::launch::async, [&] { return measure_once(tasks, plan); });
  const double from_s = plan.settle_s + kInsideSeconds;
  const double wall_s = sharing_.machine().wall_seconds(1);
  const std::int64_t begin = now_ns();
  sleep_until_ns(begin + nanoseconds(from_s * wall_s));
  const double before_s = used_s(0);
  const Stopwatch watch(sharing_.machine());
  sleep_until_ns(begin + nanoseconds((from_s + plan.window_s - 2 * kInsideSeconds) * wall_s));
  const double billed = (used_s(0) - before_s) / watch.seconds();
  return {work.get(), 100 * billed};
}

double CappedTenants::used_s(std::size_t tenant) const {
  return quota_case::used_s(sharing_, tenants_.pid(tenant));
}

double CappedTenants::cap_in_force(std::size_t tenant) const {
  return status_of(tenant).at("gpus").at(0).at("cap_in_force_percent").get<double>();
}

}  // namespace nvs::bench::quota_case
