// SPDX-License-Identifier: Apache-2.0
// Several tenants with caps.
#include <algorithm>
#include <future>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/cases/latency_part.h"
#include "bench/cases/quota_case.h"
#include "bench/cases/quota_part.h"

namespace nvs::bench {
namespace quota_case {
namespace {

using Caps = std::vector<int>;

constexpr std::size_t kAdd = 0;
constexpr std::size_t kMatmul = 1;
constexpr std::size_t kTenantsMax = 4;
// Beside one that is capped: a tenant of high priority that asks now and then.
constexpr std::size_t kCapped = 0;
constexpr std::size_t kHigh = 1;
constexpr int kCapBesideHigh = 50;
const Target kTotal = {99, std::nullopt};
// From the change of a cap: it is in force, and what everybody gets is right again.
const Target kInForce = {std::nullopt, 500};
constexpr double kRightAgainSeconds = 2;
constexpr double kPatienceSeconds = 5;  // with a daemon that does not get it done

std::vector<Caps> caps_together(const Bench& bench) {
  if (bench.quick) return {{30, 60}, {75, 75}};
  return {{30, 60}, {50, 50}, {25, 75}, {10, 20, 30, 40}, {75, 75}, {80, 40, 40}};
}

// Caps that add up to more than the GPU are scaled; tenants of several GPUs have the same on each.
double in_force(const Caps& caps, std::size_t tenant, int gpus = 1) {
  const double sum = std::accumulate(caps.begin(), caps.end(), 0.0);
  return caps[tenant] * std::min(1.0, 100 * gpus / sum);
}

std::vector<Task> all_saturate(std::size_t tenants, std::size_t load) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < tenants; ++i) tasks.push_back(saturating(i, load));
  return tasks;
}

class Together {
 public:
  Together(Sharing& sharing, const QuotaPlan& plan, CappedTenants& tenants)
      : sharing_(sharing), plan_(plan), tenants_(tenants) {}

  void find_solo_rates() {
    sharing_.begin_section("");
    for (std::size_t load = 0; load < sharing_.loads().size(); ++load) {
      solo_.push_back(tenants_.solo_rate(load, plan_.solo_s));
    }
    solo_overrun_ = sharing_.overrun();
  }

  void measure(const Caps& caps, std::size_t load) {
    const std::string title =
        fmt::format("{}, {}", fmt::join(caps, " + "), load == kAdd ? "add" : "matmul");
    sharing_.step(title);
    measure_as(title, caps, load, 1);
  }
  void measure_as(const std::string& title, const Caps& caps, std::size_t load, int gpus) {
    begin_section(title);
    set(caps);
    add_rows(caps, load, tenants_.measure(all_saturate(caps.size(), load), plan_), gpus);
  }

  void measure_change(const Caps& before, const Caps& after) {
    const std::string title = fmt::format("{} changed to {} while they run",
                                          fmt::join(before, " + "), fmt::join(after, " + "));
    begin_section(title);
    sharing_.step(title);
    const Changed changed = sharing_.on_time([&] { return change(before, after); });
    sharing_.add("in force after", {changed.in_force_ms}, "ms", kInForce);
    add_rows(after, kAdd, changed.answers);
  }

  void measure_beside_high(int cap) {
    const std::string title = fmt::format("requests of high priority beside a cap of {} %", cap);
    begin_section(title);
    sharing_.step(title);
    tenants_.cap(kCapped, cap);
    constexpr std::uint64_t kSeed = 6000;
    const auto [answers, billed] = tenants_.measure_billed(
        {arriving(kHigh, latency_case::kRequestsPerSecond, kSeed), saturating(kCapped, kAdd)},
        plan_);
    std::vector<double> samples_ms;
    append_ms(samples_ms, answers[0].at("samples_s"));
    latency_case::add_latency(sharing_, samples_ms, latency_case::kSettings[1].limits);
    sharing_.add("the capped one, got", {share(answers[1], kAdd)}, "%", near(cap, kPoints));
    sharing_.add("the capped one, billed", {billed}, "%");
  }

 private:
  struct Changed {
    double in_force_ms;
    std::vector<nlohmann::json> answers;
  };
  // Where the simulator was late all of it is done again: a second look at the work alone would
  // find the new caps where they have long been.
  Changed change(const Caps& before, const Caps& after) {
    set(before);
    QuotaPlan plan = plan_;
    const double change_at_s = plan_.settle_s + 1;
    plan.settle_s = change_at_s + kRightAgainSeconds;
    auto work = std::async(std::launch::async, [&] {
      return tenants_.measure_once(all_saturate(after.size(), kAdd), plan);
    });
    sleep_until_ns(now_ns() + nanoseconds(sharing_.machine().wall_seconds(change_at_s)));
    const std::int64_t begin = now_ns();
    set(after);
    const std::int64_t deadline = begin + nanoseconds(kPatienceSeconds);
    while (!are_in_force(after) && now_ns() < deadline) {
      sleep_until_ns(now_ns() + nanoseconds(0.002));
    }
    const double in_force_ms = static_cast<double>(now_ns() - begin) * 1e-6;
    return {in_force_ms, work.get()};
  }

  // Shares are of a tenant alone: no row is better than that one was.
  void begin_section(const std::string& title) {
    sharing_.begin_section(title);
    sharing_.set_overrun(solo_overrun_);
  }
  void set(const Caps& caps) const {
    for (std::size_t i = 0; i < caps.size(); ++i) tenants_.cap(i, caps[i]);
  }
  bool are_in_force(const Caps& caps) const {
    for (std::size_t i = 0; i < caps.size(); ++i) {
      if (std::abs(tenants_.cap_in_force(i) - in_force(caps, i)) > 0.01) return false;
    }
    return true;
  }
  double share(const nlohmann::json& answer, std::size_t load) const {
    return 100 * rate_in_window(answer, plan_.window_s) / solo_.at(load);
  }

  void add_rows(const Caps& caps, std::size_t load, const std::vector<nlohmann::json>& answers,
                int gpus = 1) {
    double got = 0;
    double asked = 0;
    for (std::size_t i = 0; i < caps.size(); ++i) {
      const double due = in_force(caps, i, gpus);
      const double percent = share(answers[i], load);
      sharing_.add(fmt::format("cap {} %, got", caps[i]), {percent}, "%", near(due, kPoints));
      got += percent;
      asked += due;
    }
    sharing_.add("total of what was asked", {100 * got / asked}, "%", kTotal);
  }

  Sharing& sharing_;
  QuotaPlan plan_;
  CappedTenants& tenants_;
  std::vector<double> solo_;
  double solo_overrun_ = 0;
};

// Two tenants on each of two GPUs: the daemon keeps accounts for each GPU.
void measure_two_gpus(Sharing& sharing, const QuotaPlan& plan) {
  const std::string title = "30 + 60 on each of two GPUs, add";
  sharing.step(title);
  if (sharing.daemon().status().at("gpus").size() < 2) {
    sharing.note("no rows of two GPUs: there is one");
    return;
  }
  std::vector<Child::Environment> each = normal_tenants(sharing, 4);
  for (std::size_t i = 0; i < each.size(); ++i) {
    each[i]["CUDA_VISIBLE_DEVICES"] = i < 2 ? "0" : "1";
  }
  CappedTenants tenants(sharing, each);
  Together together(sharing, plan, tenants);
  together.find_solo_rates();
  together.measure_as(title, {30, 60, 30, 60}, kAdd, 2);
}

}  // namespace
}  // namespace quota_case

void QuotaCase::run(const Bench& bench) const {
  using namespace quota_case;
  const QuotaPlan plan = quota_plan_together(bench);
  const std::vector<Caps> all = caps_together(bench);
  Progress progress(name(), 5 + static_cast<int>(all.size()));
  Sharing sharing(bench, progress, daemon_options(bench));
  sharing.step("kernels and tenants");
  sharing.add_load(Work::kAdd, kKernelSeconds);
  sharing.add_load(Work::kMatmul, kKernelSeconds);
  {
    CappedTenants tenants(sharing, normal_tenants(sharing, kTenantsMax));
    Together together(sharing, plan, tenants);
    sharing.step("one alone");
    together.find_solo_rates();
    for (const Caps& caps : all) together.measure(caps, kAdd);
    together.measure({30, 60}, kMatmul);
    together.measure_change({30, 60}, {60, 30});
  }
  measure_two_gpus(sharing, plan);
}

void QuotaHighCase::run(const Bench& bench) const {
  using namespace quota_case;
  Progress progress(name(), 3);
  Sharing sharing(bench, progress, daemon_options(bench));
  sharing.step("kernels and tenants");
  sharing.add_load(Work::kAdd, kKernelSeconds);
  CappedTenants tenants(sharing, {sharing.daemon().tenant(), sharing.daemon().tenant("high")});
  Together together(sharing, quota_plan_together(bench), tenants);
  sharing.step("one alone");
  together.find_solo_rates();
  together.measure_beside_high(kCapBesideHigh);
}

}  // namespace nvs::bench
