// SPDX-License-Identifier: Apache-2.0
// How many instructions the library adds to a call while its gate is open, and how much memory it
// takes in the process.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/cases/overhead_part.h"
#include "bench/failure.h"
#include "bench/overhead_probe.h"
#include "bench/process_map.h"
#include "bench/step_counter.h"

namespace nvs::bench::overhead_case {
namespace {

// At least one, or else it is not hooked at all.
const Target kHooked = {1, 40};
const Target kNotHooked = {0, 0};
constexpr const char* kDriverFile = "libcuda.so";
constexpr double kCallsSeconds = 60;

struct CountedCall {
  std::string what;
  bool hooked;
  StepCount count;
};

struct Counted {
  std::vector<CountedCall> calls;
  std::optional<LibraryMemory> memory;  // of the library
};

// Runs of the same call must agree: a figure that varies is no count.
StepCount count_call(StepCounter& counter, const std::vector<CodeRange>& driver,
                     const std::string& what, Child& child) {
  std::vector<StepCount> counts;
  for (int i = 0; i < kCountedCalls; ++i) {
    const std::optional<StepCount> count = counter.next(driver);
    if (!count) {
      child.receive(kCallsSeconds);  // throws, and knows why it ended
      throw Failure("the program ended in " + what);
    }
    counts.push_back(*count);
  }
  if (std::count(counts.begin(), counts.end(), counts[0]) != kCountedCalls) {
    std::vector<std::uint64_t> steps;
    for (const StepCount& count : counts) steps.push_back(count.steps);
    throw Failure(fmt::format("{} takes a different number of instructions each time: {}", what,
                              fmt::join(steps, ", ")));
  }
  return counts[0];
}

Counted count(const Part& part, Preload preload) {
  const auto [child, greeting] = part.start(preload, kCountRole);
  const std::vector<CodeRange> driver = find_code(child->pid(), kDriverFile);
  if (driver.empty()) throw Failure("no libcuda.so is mapped into the program");
  Counted result;
  {
    StepCounter counter(child->pid());
    child->send({{"go", true}});
    for (const nlohmann::json& subject : greeting.at("subjects")) {
      const auto what = subject.at("what").get<std::string>();
      result.calls.push_back(
          {what, subject.at("hooked").get<bool>(), count_call(counter, driver, what, *child)});
    }
  }
  child->receive(kCallsSeconds);
  result.memory = find_memory(child->pid(), part.library);
  return result;
}

// Not rounded, not averaged: low, median and high are one.
Row exact_row(const char* section, const std::string& what, double value, const char* unit,
              std::optional<Target> target) {
  return {section, what, {value, value, value}, unit, std::nullopt, target, std::nullopt};
}

double difference(std::uint64_t with, std::uint64_t bare) {
  return static_cast<double>(with) - static_cast<double>(bare);
}

}  // namespace

void count_instructions(const Part& part) {
  part.progress.step("counting instructions, with the library");
  const Counted with = count(part, Preload::kLibrary);
  part.progress.step("counting instructions, bare");
  const Counted bare = count(part, Preload::kBare);
  Report& report = part.bench.report;
  double driver_calls = 0;
  for (std::size_t i = 0; i < with.calls.size(); ++i) {
    const CountedCall& call = with.calls[i];
    if (call.what != bare.calls.at(i).what) throw Failure("the library changes what can be called");
    const StepCount& base = bare.calls[i].count;
    driver_calls += difference(call.count.entries, base.entries);
    report.add(exact_row("Added to a call, gate open", call.what,
                         difference(call.count.steps, base.steps), "instructions",
                         call.hooked ? kHooked : kNotHooked));
  }
  report.add(exact_row("Added to a call, gate open", "calls of the driver, in all of these",
                       driver_calls, "calls", Target{0, 0}));
  constexpr double kKiB = 1024;
  const auto resident = static_cast<double>(with.memory->resident_bytes);
  const auto dirty = static_cast<double>(with.memory->private_dirty_bytes);
  report.add(exact_row("Memory of the library", "resident", resident / kKiB, "KiB", std::nullopt));
  report.add(
      exact_row("Memory of the library", "private and dirty", dirty / kKiB, "KiB", std::nullopt));
}

}  // namespace nvs::bench::overhead_case
