// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/latency_case.h"

#include <array>

#include "bench/cases/latency_part.h"

namespace nvs::bench {
namespace {

using latency_case::kRequestsPerSecond;
using latency_case::kSaturating;
using latency_case::kSettings;
using latency_case::Limits;
using latency_case::Setting;

struct LatencyPlan {
  int rounds;
  double alone_s;
  double window_s;
};
LatencyPlan latency_plan_for(const Bench& bench) {
  if (bench.quick) return {1, 0.6, 2};
  return bench.machine.simulated() ? LatencyPlan{2, 1, 8} : LatencyPlan{3, 1.5, 8};
}

constexpr std::size_t kSaturator = 0;
constexpr double kSeldomPerSecond = 1;

struct Observed {
  std::vector<double> samples_ms;  // of all rounds
  // Each round: what the saturating one has of alone, and of the windows that requests had under
  // the daemon how many there were a second, how long they were, and what each cost the other one.
  std::vector<double> percent;
  std::vector<double> windows;
  std::vector<double> window_us;
  std::vector<double> cost_us;
};

void note_windows(Observed& observed, const Had& before, const Had& after, double seconds) {
  const double windows = after.windows - before.windows;
  if (windows <= 0) return;
  observed.windows.push_back(windows / seconds);
  observed.window_us.push_back((after.used_s - before.used_s) / windows * 1e6);
  observed.cost_us.push_back((100 - observed.percent.back()) / 100 * seconds / windows * 1e6);
}

void add_windows(Sharing& sharing, const Observed& observed) {
  if (observed.windows.empty()) return;
  sharing.add("windows of the requests", observed.windows, "1/s");
  sharing.add("one of them, mean", observed.window_us, "us");
  sharing.add("what each costs the saturating tenant", observed.cost_us, "us");
}

// Every round has arrivals of its own, the same in every setting.
std::uint64_t seed_of(int round) { return 4000 + static_cast<std::uint64_t>(round); }

}  // namespace

void latency_case::add_latency(Sharing& sharing, const std::vector<double>& samples_ms,
                               const std::optional<Limits>& limits) {
  const auto at_most = [&](double Limits::*limit) {
    return limits ? std::optional(Target{std::nullopt, (*limits).*limit}) : std::nullopt;
  };
  sharing.add("p50 from arrival", {percentile(samples_ms, 0.5)}, "ms", at_most(&Limits::p50_ms));
  sharing.add("p99 from arrival", {percentile(samples_ms, 0.99)}, "ms", at_most(&Limits::p99_ms));
  sharing.add("longest", {percentile(samples_ms, 1)}, "ms");
}

void LatencyCase::run(const Bench& bench) const {
  const LatencyPlan plan = latency_plan_for(bench);
  Progress progress(name(), 3 + plan.rounds * static_cast<int>(1 + kSettings.size()) +
                                latency_case::python_steps(bench));
  Sharing sharing(bench, progress);
  sharing.step("kernels and tenants");
  sharing.add_load(Work::kAdd, kKernelSeconds);
  Tenants bare = sharing.bare_tenants(2);
  Tenants shared = sharing.shared_tenants({"normal", "normal", "high"});

  sharing.begin_section("Requests alone, bare");
  sharing.step("requests alone");
  std::vector<double> alone_ms;
  const std::vector<nlohmann::json> requests =
      sharing.measure(bare, {arriving(1, kRequestsPerSecond, seed_of(-1))}, plan.window_s);
  append_ms(alone_ms, requests[0].at("samples_s"));
  latency_case::add_latency(sharing, alone_ms, std::nullopt);

  sharing.begin_section("");
  std::array<Observed, kSettings.size()> observed;
  std::vector<double> seldom_percent;
  for (int round = 0; round < plan.rounds; ++round) {
    sharing.step("the saturating tenant alone");
    const double alone = sharing.rate_alone(bare, 0, plan.alone_s);
    for (std::size_t i = 0; i < kSettings.size(); ++i) {
      const Setting& setting = kSettings[i];
      sharing.step(setting.title);
      const pid_t pid = shared.pid(setting.requester);
      const Had before = had(sharing, pid);
      const Stopwatch watch(sharing.machine());
      const std::vector<nlohmann::json> answers =
          sharing.measure(setting.under_daemon ? shared : bare,
                          {arriving(setting.requester, kRequestsPerSecond, seed_of(round)),
                           saturating(kSaturator, 0)},
                          plan.window_s);
      append_ms(observed[i].samples_ms, answers[0].at("samples_s"));
      observed[i].percent.push_back(100 * rate_in_window(answers[1], plan.window_s) / alone);
      if (setting.under_daemon) {
        note_windows(observed[i], before, had(sharing, pid), watch.seconds());
      }
    }
    if (round > 0) continue;
    sharing.step("a request a second");
    const auto answers = sharing.measure(
        shared, {arriving(1, kSeldomPerSecond, seed_of(0)), saturating(kSaturator, 0)},
        plan.window_s);
    seldom_percent.push_back(100 * rate_in_window(answers[1], plan.window_s) / alone);
  }
  for (std::size_t i = 0; i < kSettings.size(); ++i) {
    sharing.continue_section(kSettings[i].title);
    latency_case::add_latency(sharing, observed[i].samples_ms, kSettings[i].limits);
    sharing.add("the saturating tenant, of alone", observed[i].percent, "%",
                kSettings[i].limits ? std::optional(kSaturating) : std::nullopt);
    add_windows(sharing, observed[i]);
  }
  // What it costs that requests may come, and the queue is short for their sake.
  sharing.continue_section("nvshare, a request a second");
  sharing.add("the saturating tenant, of alone", seldom_percent, "%");
  latency_case::measure_beside_python(sharing, bare, shared);
}

}  // namespace nvs::bench
