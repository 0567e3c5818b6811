// SPDX-License-Identifier: Apache-2.0
// One tenant under the daemon, with nobody else there: its gate is open and nothing is bounded, so
// it should run as if it were bare.
#include <array>
#include <vector>

#include <fmt/format.h>

#include "bench/cases/overhead_part.h"
#include "bench/cases/sharing_part.h"

namespace nvs::bench::overhead_case {
namespace {

constexpr int kRounds = 5;
constexpr double kWindowSeconds = 1.5;

struct Kind {
  Work work;
  const char* name;
};
constexpr std::array<Kind, 2> kKinds = {{{Work::kAdd, "add"}, {Work::kMatmul, "matmul"}}};

void measure_kernels(Sharing& sharing) {
  sharing.step("kernels that fill the GPU");
  for (const Kind& kind : kKinds) sharing.add_load(kind.work, kKernelSeconds);
  Tenants bare = sharing.bare_tenants(1);
  Tenants shared = sharing.shared_tenants({"normal"});
  sharing.begin_section("One tenant under the daemon, of bare");
  for (std::size_t load = 0; load < kKinds.size(); ++load) {
    const std::vector<double> percents = by_turns(
        kRounds, [&] { return sharing.rate_alone(bare, load, kWindowSeconds); },
        [&] { return sharing.rate_alone(shared, load, kWindowSeconds); });
    sharing.add(fmt::format("{}, kernels of 1.7 ms", kKinds[load].name), percents, "%",
                kFillsTheGpu);
  }
}

}  // namespace

void measure_under_daemon(const Part& part) {
  Sharing sharing(part.bench, part.progress);
  Part under_daemon = part;
  for (const auto& [name, value] : sharing.daemon().tenant())
    under_daemon.environment[name] = value;
  measure_rates(under_daemon, ", under the daemon");
  measure_kernels(sharing);
}

}  // namespace nvs::bench::overhead_case
