// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/fits_case.h"

#include <algorithm>

#include "bench/cases/memory_part.h"

namespace nvs::bench {
namespace fits_case {
namespace {

constexpr std::uint64_t kSmallBytes = 4 * kGiB;
constexpr double kTurnSeconds = 2;
const Target kNothing = {std::nullopt, 0};
const Target kFullSpeed = {98, std::nullopt};  // percent of alone

// Seconds of work with the GPU to itself.
struct Plan {
  double fits_s;
  double alone_s;
  double leaver_s;
  double stayer_s;
};
Plan plan_for(const Bench& bench) { return bench.quick ? Plan{1, 1.5, 1, 6} : Plan{5, 5, 4, 20}; }

void measure_fitting(MemoryPart& part, const Plan& plan) {
  part.step("two tenants that fit");
  part.begin_section("2 tenants of 4 GiB on 16 GiB");
  const MemoryRun seen = part.run({part.adding_for("tenant 1", kSmallBytes, plan.fits_s),
                                   part.adding_for("tenant 2", kSmallBytes, plan.fits_s)},
                                  plan.fits_s);
  part.add_moved(seen, kNothing);
  part.add("longest time that one was not served", {seen.run.longest_gap() * 1e3}, "ms");
}

void measure_alone_again(MemoryPart& part, const Plan& plan) {
  part.step("alone");
  part.begin_section("One of 2 tenants of 12 GiB on 16 GiB ends, turns of 2 s");
  const double rate = part.rate_alone(kLargeBytes, plan.alone_s);
  part.step("alone again");
  const WorkloadRun run = part.run({part.adding("leaver", kLargeBytes, rate * plan.leaver_s),
                                    part.adding("stayer", kLargeBytes, rate * plan.stayer_s)},
                                   plan.leaver_s + plan.stayer_s)
                              .run;
  const WorkloadResult& leaver = run.tenants[0];
  const WorkloadResult& stayer = run.tenants[1];
  const double left_s = leaver.seconds + leaver.verify_seconds;
  const auto first = std::find_if(stayer.points.begin(), stayer.points.end(),
                                  [&](const WorkloadPoint& point) { return point.at_s > left_s; });
  const char* const its_rate = "its rate from one turn later on, of alone";
  if (first == stayer.points.end()) {
    part.add_unseen(its_rate, "%", kFullSpeed, "the other one was done before");
    return;
  }
  part.add("the other one gets something done after", {first->at_s - left_s}, "s");
  part.add(its_rate, {100 * stayer.rate_from(left_s + kTurnSeconds) / rate}, "%", kFullSpeed);
}

}  // namespace
}  // namespace fits_case

void FitsCase::run(const Bench& bench) const {
  using namespace fits_case;
  const Plan plan = plan_for(bench);
  Progress progress(name(), 3);
  MemoryPart part(bench, progress, kTurnSeconds);
  measure_fitting(part, plan);
  measure_alone_again(part, plan);
}

}  // namespace nvs::bench
