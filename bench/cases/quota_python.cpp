// SPDX-License-Identifier: Apache-2.0
// PyTorch under caps, which come with its environment, by the time that each had and by its rate.
// `mm` draws all the power that the card may have, and runs faster while the GPU has nothing to do
// for a tenth of the time. So its rate is also compared with that of one alone under a cap of 90 %,
// and the GPU is shared with a third tenant, which has the rest.
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "bench/cases/quota_case.h"
#include "bench/cases/quota_part.h"
#include "bench/python_program.h"

namespace nvs::bench {
namespace quota_case {
namespace {

constexpr std::array<const char*, 2> kPythonKinds = {"mm", "add"};
constexpr double kPythonPoints = 1.5;
constexpr int kBusyPercent = 90;
// At both ends of the run: a process may start or end so much later than another one.
constexpr double kMarginSeconds = 1;

std::vector<Child::Environment> with_caps(const Sharing& sharing, const std::vector<int>& caps) {
  std::vector<Child::Environment> each(caps.size(), sharing.daemon().tenant());
  for (std::size_t i = 0; i < each.size(); ++i) {
    each[i]["NVSHARE_GPU_CORE_LIMIT"] = std::to_string(caps[i]);
  }
  return each;
}

// The part of the time that each is billed, in percent, while all of them run.
std::vector<double> billed_percent(const Sharing& sharing, const PythonRun& run, double seconds) {
  std::vector<double> result;
  run.wait_for_start(-kMarginSeconds);
  for (const pid_t pid : run.pids()) result.push_back(-used_s(sharing, pid));
  const Stopwatch watch(sharing.machine());
  run.wait_for_start(kMarginSeconds - seconds);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] += used_s(sharing, run.pids()[i]);
  for (double& value : result) value *= 100 / watch.seconds();
  return result;
}

class PythonCaps {
 public:
  PythonCaps(Sharing& sharing, const PythonPrograms& python)
      : sharing_(sharing), python_(python), seconds_(sharing.bench().quick ? 6 : 20) {}

  void measure(const std::string& kind) {
    using enum PythonPrograms::Start;
    sharing_.begin_section("PyTorch, tq.py " + kind);
    sharing_.step(fmt::format("tq.py {} alone", kind));
    alone_ = python_.start(kind, seconds_, {sharing_.daemon().tenant()}, at_once).rates()[0];
    sharing_.add("one tenant alone", {alone_}, "it/s");
    sharing_.step(fmt::format("tq.py {} alone, {} %", kind, kBusyPercent));
    const double capped =
        python_.start(kind, seconds_, with_caps(sharing_, {kBusyPercent}), at_once).rates()[0];
    alone_as_busy_ = 100 * capped / kBusyPercent;
    sharing_.add(fmt::format("one tenant alone under {} %, over {} %", kBusyPercent, kBusyPercent),
                 {alone_as_busy_}, "it/s");
    measure_caps(kind, {30, 60});
    measure_caps(kind, {30, 60, 10});
  }

 private:
  void measure_caps(const std::string& kind, const std::vector<int>& caps) {
    const std::string title = fmt::format("{}", fmt::join(caps, " + "));
    sharing_.step(fmt::format("tq.py {}, {}", kind, title));
    const PythonRun run =
        python_.start(kind, seconds_, with_caps(sharing_, caps), PythonPrograms::Start::common);
    const std::vector<double> billed = billed_percent(sharing_, run, seconds_);
    const std::vector<double> rates = run.rates();
    const int sum = std::accumulate(caps.begin(), caps.end(), 0);
    for (std::size_t i = 0; i < caps.size(); ++i) {
      const Target target = near(caps[i], kPythonPoints);
      const std::string what = fmt::format("{}: cap {} %, ", title, caps[i]);
      sharing_.add(what + "of the time", {billed[i]}, "%", target);
      sharing_.add(what + "of its rate alone", {100 * rates[i] / alone_}, "%", target);
      if (sum != kBusyPercent) continue;
      sharing_.add(fmt::format("{}of that under {} %", what, kBusyPercent),
                   {100 * rates[i] / alone_as_busy_}, "%", target);
    }
  }

  Sharing& sharing_;
  const PythonPrograms& python_;
  double seconds_;
  double alone_ = 0;
  double alone_as_busy_ = 0;  // on a GPU that is idle as much as beside the two
};

}  // namespace
}  // namespace quota_case

void QuotaPythonCase::run(const Bench& bench) const {
  using namespace quota_case;
  expect_python(bench);
  Progress progress(name(), 4 * static_cast<int>(kPythonKinds.size()));
  Sharing sharing(bench, progress, daemon_options(bench));
  const std::unique_ptr<PythonPrograms> python = python_programs(sharing);
  if (!python) return;
  PythonCaps caps(sharing, *python);
  for (const char* kind : kPythonKinds) caps.measure(kind);
}

}  // namespace nvs::bench
