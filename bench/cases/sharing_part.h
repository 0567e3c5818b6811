// SPDX-License-Identifier: Apache-2.0
// What the cases share that compare tenants under the daemon with tenants under the driver's own
// slicing: the loads, both groups of tenants at once, and rows that know how late the simulator
// was.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/case.h"
#include "bench/daemon_process.h"
#include "bench/gpu.h"
#include "bench/measure.h"
#include "bench/progress.h"
#include "bench/python_program.h"
#include "bench/tenants.h"

namespace nvs::bench {

// Four tenants, the library's threads in each and the daemon on two processors are late at the
// card's own speed. The windows are dilated with everything else; what the daemon and the library
// fix in real time (the queue bound, the wait before a tenant counts as idle) is not, and is then
// shorter against kernels than on the card.
inline constexpr double kSharingTimeFactor = 2;

// The kernel that the requirements are written for.
inline constexpr double kKernelSeconds = 0.0017;

// A part of a case: the machine, its daemon, and rows.
class Sharing {
 public:
  // The options are added to the daemon's command line.
  Sharing(const Bench& bench, Progress& progress, const std::vector<std::string>& options = {});

  const Bench& bench() const { return bench_; }
  const Machine& machine() const { return bench_.machine; }
  const DaemonProcess& daemon() const { return daemon_; }
  DaemonProcess& daemon() { return daemon_; }
  const std::vector<Load>& loads() const { return loads_; }
  void step(const std::string& what) { progress_.step(what); }
  void note(const std::string& text) { progress_.note(text); }

  // Must be called before tenants are at work: it needs the GPU for itself.
  void add_load(Work work, double kernel_s);
  Tenants bare_tenants(std::size_t count) const;
  // One for each priority.
  Tenants shared_tenants(const std::vector<std::string>& priorities) const;

  // The tasks in a window of so many nominal seconds, again if the simulator was late.
  std::vector<nlohmann::json> measure(Tenants& tenants, const std::vector<Task>& tasks,
                                      double window_s);
  // Any other measurement, likewise.
  template <class Measure>
  auto on_time(const Measure& measure) {
    // Saturating tenants keep the GPU busy all the time, and the others sleep on purpose.
    auto [result, late] =
        measure_on_time(bench_, progress_, measure, OverrunMeter::Against::kElapsed);
    overrun_ = std::max(overrun_, late.value_or(0));
    return std::move(result);
  }
  // Kernels a (nominal) second of the first tenant alone.
  double rate_alone(Tenants& tenants, std::size_t load, double window_s);

  // What is measured from here on belongs to this section: what was late before is forgotten.
  void begin_section(const std::string& title);
  // Rows that follow stand under this heading, and were measured since the section began.
  void continue_section(const std::string& title) { section_ = title; }
  // How late the simulator was since the section began; and rows that follow are of measurements
  // that were so late.
  double overrun() const { return overrun_; }
  void set_overrun(double overrun) { overrun_ = overrun; }
  void add(const std::string& what, const std::vector<double>& values, const std::string& unit,
           std::optional<Target> target = std::nullopt);

 private:
  const Bench& bench_;
  Progress& progress_;
  Gpu gpu_;
  DaemonProcess daemon_;
  std::vector<Load> loads_;
  std::string section_;
  double overrun_ = 0;
};

// Throws Failure if the command line names no folder of PyTorch's programs.
void expect_python(const Bench& bench);
// PyTorch's programs; null if the command line names none, or if this machine cannot run them,
// which is noted.
std::unique_ptr<PythonPrograms> python_programs(Sharing& sharing);

// What the tenant of this process has had of GPUs so far, by the daemon's books, in nominal
// seconds.
struct Had {
  double windows = 0;
  double used_s = 0;
};
Had had(const Sharing& sharing, pid_t pid);

void append_ms(std::vector<double>& all_ms, const nlohmann::json& all_s);

// Kernels a nominal second that a saturating tenant completed in a window of so many nominal
// seconds.
double rate_in_window(const nlohmann::json& answer, double window_s);

}  // namespace nvs::bench
