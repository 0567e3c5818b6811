// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/memory_part.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/stats.h"
#include "workloads/result_table.h"

namespace nvs::bench {
namespace {

// Time for tenants to allocate and fill their memory, and to check it, in each other's company.
constexpr double kAroundSeconds = 60;
// Slower than this is a failure, and not a figure.
constexpr double kSlownessMax = 3;

std::vector<std::string> daemon_options(const Machine& machine, std::optional<double> turn_s,
                                        const std::vector<std::string>& more) {
  std::vector<std::string> options = {"--gpu-memory",
                                      fmt::format("{}KiB", machine.scaled(kCapacityBytes) / 1024)};
  if (turn_s) {
    options.insert(options.end(),
                   {"--turn", fmt::format("{:.0f}ms", machine.wall_seconds(*turn_s) * 1e3)});
  }
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

}  // namespace

MemoryPart::MemoryPart(const Bench& bench, Progress& progress, std::optional<double> turn_s,
                       const std::vector<std::string>& more)
    : bench_(bench),
      progress_(progress),
      daemon_(bench, {}, daemon_options(bench.machine, turn_s, more)) {}

WorkloadTenant MemoryPart::adding(const std::string& label, std::uint64_t bytes,
                                  double iterations) const {
  return {label,
          {"add", "--rewrite", "--size", size_argument(bytes), "--iterations",
           fmt::format("{:.0f}", std::max(1.0, std::round(iterations)))},
          daemon_.tenant()};
}

WorkloadTenant MemoryPart::adding_for(const std::string& label, std::uint64_t bytes,
                                      double seconds) const {
  return {label,
          {"add", "--rewrite", "--size", size_argument(bytes), "--seconds",
           fmt::format("{:.3f}", machine().wall_seconds(seconds))},
          daemon_.tenant()};
}

WorkloadTenant MemoryPart::reading_for(const std::string& label, std::uint64_t bytes,
                                       double seconds) const {
  return {label,
          {"infer", "--size", size_argument(bytes), "--seconds",
           fmt::format("{:.3f}", machine().wall_seconds(seconds))},
          daemon_.tenant()};
}

MemoryRun MemoryPart::run(const std::vector<WorkloadTenant>& tenants, double about_s,
                          Ending ending) {
  const OverrunMeter meter(machine(), OverrunMeter::Against::kElapsed);
  const double timeout_s = machine().wall_seconds(kSlownessMax * about_s) + kAroundSeconds;
  MemoryWatch watch(daemon_);
  MemoryRun result{run_workloads(machine(), tenants, timeout_s, ending), {}};
  overrun_ = std::max(overrun_, meter.share().value_or(0));
  result.holdings = watch.finish();
  return result;
}

double MemoryPart::rate_alone(std::uint64_t bytes, double seconds) {
  const MemoryRun alone = run({adding_for("alone", bytes, seconds)}, seconds);
  return alone.run.tenants[0].iterations / alone.run.tenants[0].seconds;
}

void MemoryPart::begin_section(const std::string& title) {
  section_ = title;
  overrun_ = 0;
}

void MemoryPart::add_moved(const MemoryRun& run, std::optional<Target> target) {
  const std::optional<Moved> moved = moved_in(run.holdings);
  if (!moved) {
    const std::string why = "the daemon does not say where memory is";
    add_unseen("moved out, in all", "GB", target, why);
    add_unseen("moved in, in all", "GB", target, why);
    return;
  }
  add_bytes("moved out, in all", {machine().nominal_bytes(moved->out)}, target);
  add_bytes("moved in, in all", {machine().nominal_bytes(moved->in)}, target);
}

void MemoryPart::add_bytes(const std::string& what, std::vector<double> bytes,
                           std::optional<Target> target) {
  for (double& one : bytes) one *= 1e-9;
  add_count(what, bytes, "GB", target);
}

void MemoryPart::add_count(const std::string& what, const std::vector<double>& values,
                           const std::string& unit, std::optional<Target> target) {
  bench_.report.add({section_, what, summarize(values), unit, std::nullopt, target, std::nullopt});
}

void MemoryPart::add(const std::string& what, const std::vector<double>& values,
                     const std::string& unit, std::optional<Target> target,
                     std::optional<double> facts, const std::string& facts_word) {
  const std::optional<double> overrun =
      machine().simulated() ? std::optional(overrun_) : std::nullopt;
  bench_.report.add({section_, what, summarize(values), unit, facts, target, overrun, facts_word});
}

// Without a target nothing is lost but a figure.
void MemoryPart::add_unseen(const std::string& what, const std::string& unit,
                            std::optional<Target> target, const std::string& why) {
  note(fmt::format("nothing seen of '{}': {}", what, why));
  if (target) add(what, {kNothingSeen}, unit, target);
}

void MemoryPart::show(const std::vector<workloads::Tenant>& ended) {
  bench_.report.show(section_, workloads::render_results(ended));
}

std::string size_argument(std::uint64_t bytes) { return fmt::format("{}KiB", bytes / 1024); }

}  // namespace nvs::bench
