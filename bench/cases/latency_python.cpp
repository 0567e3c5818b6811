// SPDX-License-Identifier: Apache-2.0
// Requests beside PyTorch's matmul, whose kernels take 1.7 ms as well, but which is held back by
// the power that a card may draw: it gets back at once part of what a pause costs it.
#include <fmt/format.h>

#include "bench/cases/latency_part.h"
#include "bench/python_program.h"

namespace nvs::bench::latency_case {
namespace {

constexpr const char* kKind = "mm";
constexpr std::uint64_t kSeed = 4100;
// Requests begin before it starts and go on after its end: none of its time is without them.
constexpr double kMargin_s = 1;
// Those count that arrive in the middle of it: the end of a process keeps the driver busy. Arrivals
// are told from a moment which is up to as much later than the margin begins.
constexpr double kEdge_s = 0.3;

double seconds_of(const Bench& bench) { return bench.quick ? 4 : 10; }

std::vector<double> arrived_between(const nlohmann::json& answer, double from_s, double to_s) {
  std::vector<double> all_ms;
  append_ms(all_ms, answer.at("samples_s"));
  std::vector<double> result;
  for (std::size_t i = 0; i < all_ms.size(); ++i) {
    const auto at_s = answer.at("arrivals_s").at(i).get<double>();
    if (at_s >= from_s && at_s < to_s) result.push_back(all_ms[i]);
  }
  return result;
}

}  // namespace

int python_steps(const Bench& bench) {
  return bench.python.empty() ? 0 : static_cast<int>(1 + kSettings.size());
}

void measure_beside_python(Sharing& sharing, Tenants& bare, Tenants& shared) {
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  const double seconds = seconds_of(sharing.bench());
  sharing.begin_section("Beside PyTorch's matmul (tq.py mm)");
  sharing.step("tq.py mm alone");
  using enum PythonPrograms::Start;
  const double alone = python->start(kKind, seconds, {bare_tenant()}, at_once).rates()[0];
  sharing.add("tq.py mm alone", {alone}, "it/s");
  for (const Setting& setting : kSettings) {
    sharing.step(fmt::format("tq.py mm, {}", setting.title));
    const Child::Environment environment =
        setting.under_daemon ? sharing.daemon().tenant() : bare_tenant();
    const PythonRun saturating = python->start(kKind, seconds, {environment}, common);
    saturating.wait_for_start(kMargin_s);
    const std::vector<nlohmann::json> answers = sharing.measure(
        setting.under_daemon ? shared : bare,
        {arriving(setting.requester, kRequestsPerSecond, kSeed)}, seconds + kMargin_s);
    const double rate = saturating.rates()[0];
    const std::vector<double> samples_ms =
        arrived_between(answers[0], kMargin_s + kEdge_s, kMargin_s + seconds - 2 * kEdge_s);
    sharing.continue_section(fmt::format("Beside tq.py mm: {}", setting.title));
    add_latency(sharing, samples_ms, setting.limits);
    sharing.add("the saturating tenant, of alone", {100 * rate / alone}, "%",
                setting.under_daemon ? std::optional(kSaturating) : std::nullopt);
  }
}

}  // namespace nvs::bench::latency_case
