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
  return bench.machine.simulated() ? LatencyPlan{2, 0.5, 3, 2} : LatencyPlan{3, 1.5, 8, 8};
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

// The saturating tenant beside requests: in every setting of a round, compared with it alone.
class Rounds {
 public:
  Rounds(Sharing& sharing, const LatencyPlan& plan, Tenants& bare, Tenants& shared)
      : sharing_(sharing), plan_(plan), bare_(bare), shared_(shared) {}

  void measure(int round) {
    sharing_.begin_section("");
    sharing_.step("the saturating tenant alone");
    alone_ = sharing_.rate_alone(bare_, 0, plan_.alone_s);
    alone_overrun_ = sharing_.overrun();
    for (std::size_t i = 0; i < kSettings.size(); ++i) {
      measure_setting(kSettings[i], observed_[i], seed_of(round));
    }
    if (round > 0) return;
    sharing_.step("a request a second");
    measure_beside(shared_, arriving(1, kSeldomPerSecond, seed_of(round)), seldom_, plan_.beside_s);
  }

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
  void measure_setting(const Setting& setting, Observed& observed, std::uint64_t seed) {
    sharing_.step(setting.title);
    const pid_t pid = shared_.pid(setting.requester);
    const Had before = had(sharing_, pid);
    const Stopwatch watch(sharing_.machine());
    measure_beside(setting.under_daemon ? shared_ : bare_,
                   arriving(setting.requester, kRequestsPerSecond, seed), observed, plan_.window_s);
    if (setting.under_daemon) note_windows(observed, before, had(sharing_, pid), watch.seconds());
  }

  // Its figures are no better than those of the saturating tenant alone that they are compared
  // with, and no worse for what was late in another setting.
  void measure_beside(Tenants& tenants, const Task& requests, Observed& observed, double window_s) {
    sharing_.set_overrun(alone_overrun_);
    const std::vector<nlohmann::json> answers =
        sharing_.measure(tenants, {requests, saturating(kSaturator, 0)}, window_s);
    observed.overrun = std::max(observed.overrun, sharing_.overrun());
    append_ms(observed.samples_ms, answers[0].at("samples_s"));
    observed.percent.push_back(100 * rate_in_window(answers[1], window_s) / alone_);
  }

  Sharing& sharing_;
  LatencyPlan plan_;
  Tenants& bare_;
  Tenants& shared_;
  double alone_ = 0;  // kernels a second, of this round
  double alone_overrun_ = 0;
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
      sharing.measure(bare, {arriving(1, kRequestsPerSecond, seed_of(-1))}, plan.beside_s);
  append_ms(alone_ms, requests[0].at("samples_s"));
  latency_case::add_latency(sharing, alone_ms, std::nullopt);

  Rounds rounds(sharing, plan, bare, shared);
  for (int round = 0; round < plan.rounds; ++round) rounds.measure(round);
  rounds.add_rows();
  latency_case::measure_beside_python(sharing, bare, shared);
}

}  // namespace nvs::bench
