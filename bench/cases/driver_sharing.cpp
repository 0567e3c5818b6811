// SPDX-License-Identifier: Apache-2.0
// Several processes on one GPU under the driver's own time-slicing: how much of the work of one
// alone they get done together, and how long a small request waits behind a tenant that saturates
// the GPU.
#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "bench/cases/driver_part.h"
#include "bench/measure.h"
#include "bench/tenants.h"

namespace nvs::bench::driver_case {
namespace {

struct Kind {
  Work work;
  double kernel_s;
  const char* name;
  double facts_percent;  // of one alone, with 2 or 4 tenants
};
// The kernels of FACTS.md: an fp32 add shorter than a slice of the driver, and a matrix product,
// here longer than one.
constexpr std::array<Kind, 2> kKinds = {
    {{Work::kAdd, 0.0017, "add", 91}, {Work::kMatmul, 0.0068, "matmul", 92}}};
constexpr Tolerance kSharingTolerance = {0.05, 0.05};

constexpr std::array<std::size_t, 2> kTenantCounts = {2, 4};
constexpr std::size_t kTenantsMax = 4;

// One kind of kernel: rounds of one, two and four tenants in turn; each ratio is taken within a
// round.
void measure_slicing(const Part& part, Tenants& tenants, std::size_t load, double window_s) {
  const Kind& kind = kKinds[load];
  std::vector<double> alone_ms;
  std::array<std::vector<double>, kTenantCounts.size()> percent;
  double overrun = 0;
  const auto rate_of = [&](std::size_t active) {
    part.progress.step(fmt::format("slicing: {}, tenants: {}", kind.name, active));
    const auto [rate, late] = measure_on_time(
        part.bench, part.progress, [&] { return tenants.saturate(load, active, window_s); });
    overrun = std::max(overrun, late.value_or(0));
    return rate;
  };
  for (int round = 0; round < slicing_rounds(part.bench.quick); ++round) {
    const double alone = rate_of(1);
    alone_ms.push_back(part.machine().nominal_seconds(1e3 / alone));
    for (std::size_t i = 0; i < kTenantCounts.size(); ++i) {
      percent[i].push_back(100 * rate_of(kTenantCounts[i]) / alone);
    }
  }
  Section section(part, "Time-slicing by the driver, total work of saturating tenants");
  if (part.machine().simulated()) section.set_overrun(overrun);
  section.add(fmt::format("{}: one kernel, one tenant alone", kind.name), alone_ms, "ms");
  for (std::size_t i = 0; i < kTenantCounts.size(); ++i) {
    section.add(fmt::format("{}: {} tenants, of one alone", kind.name, kTenantCounts[i]),
                percent[i], "%", kind.facts_percent, kSharingTolerance);
  }
}

void measure_latency(const Part& part, Tenants& tenants, double window_s) {
  part.progress.step("latency");
  const auto [alone, alone_late] =
      measure_on_time(part.bench, part.progress, [&] { return tenants.latency_alone(window_s); });
  const auto [beside, beside_late] = measure_on_time(
      part.bench, part.progress, [&] { return tenants.latency_beside(1, window_s); });
  Section section(part, "Latency of a tiny kernel + synchronise");
  section.set_overrun(alone_late);
  section.add("alone, p50", {alone.p50_s * 1e6}, "us", 13);
  section.add("alone, p99", {alone.p99_s * 1e6}, "us", 20);
  section.set_overrun(beside_late);
  section.add("beside a saturating tenant, p50", {beside.p50_s * 1e6}, "us", 2457);
  section.add("beside a saturating tenant, p99", {beside.p99_s * 1e6}, "us", 2490);
}

}  // namespace

void measure_sharing(const Part& part) {
  part.progress.step("starting tenants");
  std::vector<Load> loads;
  loads.reserve(kKinds.size());
  for (const Kind& kind : kKinds) loads.push_back(calibrate(part.gpu, kind.work, kind.kernel_s));
  Tenants tenants(part.machine(), kTenantsMax, loads);
  const double window_s = part.bench.quick ? 1.5 : 3;
  for (std::size_t load = 0; load < loads.size(); ++load) {
    measure_slicing(part, tenants, load, window_s);
  }
  measure_latency(part, tenants, part.bench.quick ? 1 : 2);
}

}  // namespace nvs::bench::driver_case
