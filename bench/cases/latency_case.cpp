// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/latency_case.h"

#include <algorithm>
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
  double beside_s;  // of what has no target
};
LatencyPlan latency_plan_for(const Bench& bench) {
  if (bench.quick) return {1, 0.6, 2, 1};
  return bench.machine.simulated() ? LatencyPlan{2, 0.5, 3, 2} : LatencyPlan{3, 3, 8, 8};
}

constexpr std::size_t kSaturator = 0;
constexpr double kSeldomPerSecond = 1;

struct Observed {
  std::vector<double> samples_ms;  // of all rounds
  double overrun = 0;              // the worst of them, and of the rates alone beside them
  // Each round: what the saturating one has of alone, and of the windows that requests had under
  // the daemon how many there were a second, how long they were, and what each cost the other one.
  std::vector<double> percent;
  std::vector<double> windows;
  std::vector<double> window_us;
  std::vector<double> cost_us;
};

// Of the requests in one round of one setting.
struct Windows {
  double count = 0;
  double used_s = 0;
  double seconds = 0;  // in which they were
};

void note_windows(Observed& observed, const Windows& windows) {
  if (windows.count <= 0) return;
  observed.windows.push_back(windows.count / windows.seconds);
  observed.window_us.push_back(windows.used_s / windows.count * 1e6);
  const double lost_s = (100 - observed.percent.back()) / 100 * windows.seconds;
  observed.cost_us.push_back(lost_s / windows.count * 1e6);
}

void add_windows(Sharing& sharing, const Observed& observed) {
  if (observed.windows.empty()) return;
  sharing.add("windows of the requests", observed.windows, "1/s");
  sharing.add("one of them, mean", observed.window_us, "us");
  sharing.add("what each costs the saturating tenant", observed.cost_us, "us");
}

// Every round has arrivals of its own, the same in every setting.
std::uint64_t seed_of(int round) { return 4000 + static_cast<std::uint64_t>(round); }

// The saturating tenant beside requests: in every setting of a round, compared with it alone just
// before and just after. Within half a minute a card's own rate changes by more than what is left
// between what requests cost and what they may.
class Rounds {
 public:
  Rounds(Sharing& sharing, const LatencyPlan& plan, Tenants& bare, Tenants& shared)
      : sharing_(sharing), plan_(plan), bare_(bare), shared_(shared) {}

  void measure(int round) {
    sharing_.begin_section("");
    before_ = measure_alone();
    for (std::size_t i = 0; i < kSettings.size(); ++i) {
      measure_setting(kSettings[i], observed_[i], seed_of(round));
    }
    if (round > 0) return;
    sharing_.step("a request a second");
    measure_beside(shared_, arriving(1, kSeldomPerSecond, seed_of(round)), seldom_, plan_.beside_s);
  }

  static constexpr int kStepsOfARound = 1 + 2 * static_cast<int>(kSettings.size());
  static constexpr int kStepsOfTheFirst = 2;  // besides

  void add_rows() {
    for (std::size_t i = 0; i < kSettings.size(); ++i) {
      const Setting& setting = kSettings[i];
      sharing_.continue_section(setting.title);
      sharing_.set_overrun(observed_[i].overrun);
      latency_case::add_latency(sharing_, observed_[i].samples_ms, setting.limits);
      sharing_.add("the saturating tenant, of alone", observed_[i].percent, "%",
                   setting.limits ? std::optional(kSaturating) : std::nullopt);
      add_windows(sharing_, observed_[i]);
    }
    // What it costs that requests may come, and the queue is short for their sake.
    sharing_.continue_section("nvshare, a request a second");
    sharing_.set_overrun(seldom_.overrun);
    sharing_.add("the saturating tenant, of alone", seldom_.percent, "%");
  }

 private:
  struct Alone {
    double rate = 0;  // kernels a second
    double overrun = 0;
  };
  Alone measure_alone() {
    sharing_.step("the saturating tenant alone");
    sharing_.set_overrun(0);
    const double rate = sharing_.rate_alone(bare_, 0, plan_.alone_s);
    return {rate, sharing_.overrun()};
  }

  void measure_setting(const Setting& setting, Observed& observed, std::uint64_t seed) {
    sharing_.step(setting.title);
    const Windows windows = measure_beside(setting.under_daemon ? shared_ : bare_,
                                           arriving(setting.requester, kRequestsPerSecond, seed),
                                           observed, plan_.window_s);
    if (setting.under_daemon) note_windows(observed, windows);
  }

  // Its figures are no better than those of the saturating tenant alone that they are compared
  // with, and no worse for what was late in another setting.
  Windows measure_beside(Tenants& tenants, const Task& requests, Observed& observed,
                         double window_s) {
    const pid_t pid = shared_.pid(requests.tenant);
    const Had had_before = had(sharing_, pid);
    const Stopwatch watch(sharing_.machine());
    sharing_.set_overrun(before_.overrun);
    const std::vector<nlohmann::json> answers =
        sharing_.measure(tenants, {requests, saturating(kSaturator, 0)}, window_s);
    const double overrun = sharing_.overrun();
    const double seconds = watch.seconds();
    const Had had_after = had(sharing_, pid);
    const Alone after = measure_alone();
    observed.overrun = std::max({observed.overrun, overrun, after.overrun});
    append_ms(observed.samples_ms, answers[0].at("samples_s"));
    const double alone = (before_.rate + after.rate) / 2;
    observed.percent.push_back(100 * rate_in_window(answers[1], window_s) / alone);
    before_ = after;
    return {had_after.windows - had_before.windows, had_after.used_s - had_before.used_s, seconds};
  }

  Sharing& sharing_;
  LatencyPlan plan_;
  Tenants& bare_;
  Tenants& shared_;
  Alone before_;  // the latest
  std::array<Observed, kSettings.size()> observed_;
  Observed seldom_;
};

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
  Progress progress(name(), 2 + plan.rounds * Rounds::kStepsOfARound + Rounds::kStepsOfTheFirst +
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
      sharing.measure(bare, {arriving(1, kRequestsPerSecond, seed_of(-1))}, plan.beside_s);
  append_ms(alone_ms, requests[0].at("samples_s"));
  latency_case::add_latency(sharing, alone_ms, std::nullopt);

  Rounds rounds(sharing, plan, bare, shared);
  for (int round = 0; round < plan.rounds; ++round) rounds.measure(round);
  rounds.add_rows();
  latency_case::measure_beside_python(sharing, bare, shared);
}

}  // namespace nvs::bench
