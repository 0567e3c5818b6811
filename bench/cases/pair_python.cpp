// SPDX-License-Identifier: Apache-2.0
// Pairs of PyTorch processes: loading PyTorch takes longer than measuring it, so there is one round
// of each kind, and it is long.
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "bench/cases/pair_part.h"
#include "bench/python_program.h"

namespace nvs::bench::pair_case {
namespace {

constexpr std::array<const char*, 2> kPythonKinds = {"mm", "add"};
constexpr std::array<std::size_t, 2> kPythonTenantCounts = {2, 4};

constexpr double kAloneSeconds = 8;
constexpr double kDriverSeconds = 4;
// Shares are counted in whole windows, of which there are half as many with twice the tenants.
constexpr double kSecondsEach = 5;

void measure_kind(Sharing& sharing, const PythonPrograms& python, const std::string& kind) {
  sharing.begin_section("PyTorch, tq.py " + kind);
  const double part = sharing.bench().quick ? 0.5 : 1;
  const auto measure = [&](std::size_t count, double seconds,
                           const Child::Environment& environment) {
    using enum PythonPrograms::Start;
    const std::vector<Child::Environment> each(count, environment);
    return python.start(kind, seconds * part, each, count > 1 ? common : at_once).rates();
  };
  sharing.step(fmt::format("tq.py {} alone", kind));
  const double alone = measure(1, kAloneSeconds, bare_tenant())[0];
  sharing.add("one tenant alone", {alone}, "it/s");
  const auto together = [&](std::size_t count, const char* who, double seconds,
                            const Child::Environment& environment, bool judged) {
    sharing.step(fmt::format("tq.py {}, {}, {} tenants", kind, who, count));
    const std::vector<double> rates = measure(count, seconds, environment);
    const double total = std::accumulate(rates.begin(), rates.end(), 0.0);
    const std::string label = fmt::format("{} tenants, {}", count, who);
    sharing.add(label + ", total of one alone", {100 * total / alone}, "%",
                judged ? std::optional(total_target(sharing)) : std::nullopt);
    sharing.add(label + ", farthest from equal share", {farthest_from_equal(rates)}, "%",
                judged ? std::optional(kShareTarget) : std::nullopt);
  };
  for (const std::size_t count : kPythonTenantCounts) {
    const double seconds = kSecondsEach * static_cast<double>(count);
    together(count, "nvshare", seconds, sharing.daemon().tenant(), true);
    together(count, "driver", kDriverSeconds, bare_tenant(), false);
  }
}

}  // namespace

int python_steps(const Bench& bench) {
  const auto each_kind = static_cast<int>(1 + 2 * kPythonTenantCounts.size());
  return bench.python.empty() ? 0 : static_cast<int>(kPythonKinds.size()) * each_kind;
}

void measure_python_pairs(Sharing& sharing) {
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  for (const char* kind : kPythonKinds) measure_kind(sharing, *python, kind);
}

}  // namespace nvs::bench::pair_case
