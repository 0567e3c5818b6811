// SPDX-License-Identifier: Apache-2.0
// PyTorch under caps, which come with its environment.
#include <array>

#include <fmt/format.h>

#include "bench/cases/quota_part.h"
#include "bench/python_program.h"

namespace nvs::bench::quota_case {
namespace {

constexpr std::array<const char*, 2> kPythonKinds = {"mm", "add"};
constexpr std::array<int, 2> kPythonCaps = {30, 60};
constexpr double kPythonPoints = 1.5;

void measure_kind(Sharing& sharing, const PythonPrograms& python, const std::string& kind) {
  sharing.begin_section("PyTorch, tq.py " + kind + ", 30 + 60");
  const double seconds = sharing.bench().quick ? 6 : 20;
  sharing.step(fmt::format("tq.py {} alone", kind));
  using enum PythonPrograms::Start;
  const Child::Environment tenant = sharing.daemon().tenant();
  const double alone = python.start(kind, seconds, {tenant}, at_once).rates()[0];
  sharing.add("one tenant alone", {alone}, "it/s");
  std::vector<Child::Environment> each(kPythonCaps.size(), tenant);
  for (std::size_t i = 0; i < each.size(); ++i) {
    each[i]["NVSHARE_GPU_CORE_LIMIT"] = std::to_string(kPythonCaps[i]);
  }
  sharing.step(fmt::format("tq.py {}, 30 + 60", kind));
  const std::vector<double> rates = python.start(kind, seconds, each, common).rates();
  for (std::size_t i = 0; i < rates.size(); ++i) {
    sharing.add(fmt::format("cap {} %, got", kPythonCaps[i]), {100 * rates[i] / alone}, "%",
                near(kPythonCaps[i], kPythonPoints));
  }
}

}  // namespace

int python_steps(const Bench& bench) {
  return bench.python.empty() ? 0 : 2 * static_cast<int>(kPythonKinds.size());
}

void measure_python_caps(Sharing& sharing) {
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  for (const char* kind : kPythonKinds) measure_kind(sharing, *python, kind);
}

}  // namespace nvs::bench::quota_case
