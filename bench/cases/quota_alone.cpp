// SPDX-License-Identifier: Apache-2.0
// One tenant with a cap: nobody else wants the GPU, and it must not have more all the same.
#include <optional>

#include <fmt/format.h>

#include "bench/cases/quota_case.h"
#include "bench/cases/quota_part.h"

namespace nvs::bench {
namespace quota_case {
namespace {

constexpr double kLongKernelSeconds = 0.2;
// The first kernels are queued before anybody knows how long they take, four of them, and at 10 %
// they are paid off after 8 s.
constexpr double kLongKernelSettleSeconds = 10;
// A kernel more or less is a point in 20 s, and says nothing in a quick window.
std::optional<double> points_of_long_kernels(const Bench& bench) {
  return bench.quick ? std::nullopt : std::optional(2.0);
}

void measure_alone(Sharing& sharing, CappedTenants& tenants, const QuotaPlan& plan,
                   std::size_t load, const std::string& title, std::optional<double> points) {
  sharing.begin_section(title);
  sharing.step(title + ", without a cap");
  const double solo = tenants.solo_rate(load, plan.solo_s);
  sharing.add("without a cap, one kernel", {1e3 / solo}, "ms");
  for (const int cap : plan.caps) {
    sharing.step(fmt::format("{}, {} %", title, cap));
    tenants.cap(0, cap);
    const nlohmann::json answer = tenants.measure({saturating(0, load)}, plan)[0];
    sharing.add(fmt::format("cap {} %, got", cap),
                {100 * rate_in_window(answer, plan.window_s) / solo}, "%",
                points ? std::optional(near(cap, *points)) : std::nullopt);
  }
}

// A kernel of some microseconds and a wait for it, over and over: the GPU is held all the time, and
// that is what a cap is about.
void measure_launch_bound(Sharing& sharing, CappedTenants& tenants, const QuotaPlan& plan) {
  const std::string title = "launch-bound, time billed";
  sharing.begin_section(title);
  for (const int cap : plan.caps) {
    sharing.step(fmt::format("{}, {} %", title, cap));
    tenants.cap(0, cap);
    const double billed = tenants.measure_billed({requesting(0)}, plan).percent;
    sharing.add(fmt::format("cap {} %, got", cap), {billed}, "%", near(cap, kPoints));
  }
}

int steps_of(const QuotaPlan& plan, int kinds, int solos) {
  return 1 + solos + kinds * static_cast<int>(plan.caps.size());
}

}  // namespace
}  // namespace quota_case

void QuotaAloneCase::run(const Bench& bench) const {
  using namespace quota_case;
  const QuotaPlan plan = quota_plan_for(bench);
  Progress progress(name(), steps_of(plan, 2, 2));
  Sharing sharing(bench, progress, daemon_options(bench));
  sharing.step("kernels and tenants");
  sharing.add_load(Work::kAdd, kKernelSeconds);
  sharing.add_load(Work::kMatmul, kKernelSeconds);
  CappedTenants tenants(sharing, normal_tenants(sharing, 1));
  measure_alone(sharing, tenants, plan, 0, "add, kernels of 1.7 ms", kPoints);
  measure_alone(sharing, tenants, plan, 1, "matmul, kernels of 1.7 ms", kPoints);
}

void QuotaShapesCase::run(const Bench& bench) const {
  using namespace quota_case;
  const QuotaPlan plan = quota_plan_for(bench);
  Progress progress(name(), steps_of(plan, 2, 1));
  Sharing sharing(bench, progress, daemon_options(bench));
  sharing.step("kernels and tenants");
  sharing.add_load(Work::kMatmul, kLongKernelSeconds);
  CappedTenants tenants(sharing, normal_tenants(sharing, 1));
  QuotaPlan patient = plan;
  if (!bench.quick) patient.settle_s = kLongKernelSettleSeconds;
  measure_launch_bound(sharing, tenants, plan);
  measure_alone(sharing, tenants, patient, 0, "matmul, kernels of 200 ms",
                points_of_long_kernels(bench));
}

}  // namespace nvs::bench
