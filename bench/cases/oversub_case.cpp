// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/oversub_case.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "bench/cases/memory_part.h"

namespace nvs::bench {
namespace oversub_case {
namespace {

struct Crowd {
  std::size_t tenants;
  double makespan_max;  // on a GPU, in solo times of all of them
  // Of Unified Memory a few iterations say enough, and take minutes.
  double managed_iterations;
};
constexpr std::array<Crowd, 2> kCrowds = {{{2, 1.05, 2}, {4, 1.06, 1}}};
constexpr double kSimulatedMakespanMax = 1.10;
// What pages that are carried to whoever runs cost: without it the simulator does not show what
// nvshare is for.
const Target kThrash = {10, std::nullopt};
const Target kNotServed = {std::nullopt, 30};  // seconds

// Of work for each of two tenants: three changes of turn and more.
constexpr double kLearningSeconds = 2;

// What such an iteration costs is not known before; this is far more than was seen.
constexpr double kManagedSecondsMax = 30;

struct Plan {
  double alone_s;
  double work_s;  // of each tenant, had it the GPU to itself
};
Plan plan_for(const Bench& bench) {
  if (!bench.quick) return {10, 30};
  return bench.machine.simulated() ? Plan{1, 4} : Plan{2, 6};
}

// A quick run is shorter than a turn, and the few exchanges weigh too much in it. Nothing is
// promised of them.
std::optional<Target> makespan_target(const Bench& bench, const Crowd& crowd) {
  if (bench.quick) return std::nullopt;
  const double most = bench.machine.simulated() ? kSimulatedMakespanMax : crowd.makespan_max;
  return Target{std::nullopt, most};
}

class Oversubscription {
 public:
  Oversubscription(MemoryPart& part, const Plan& plan) : part_(part), plan_(plan) {}

  void measure_alone() {
    part_.step("alone");
    part_.begin_section("One tenant of 12 GiB alone");
    rate_ = part_.rate_alone(kLargeBytes, plan_.alone_s);
    part_.add("one iteration, all data rewritten", {1e3 / rate_}, "ms");
  }

  // How fast memory moves is guessed until it was seen, from its bytes. A simulated GPU has fewer
  // of them and moves each more slowly, so that the guess is far off: a few changes go by in a
  // second that no real card would make.
  void learn_the_bus() {
    part_.step("the daemon learns the bus");
    const double iterations = std::round(rate_ * kLearningSeconds);
    part_.run({part_.adding("tenant 1", kLargeBytes, iterations),
               part_.adding("tenant 2", kLargeBytes, iterations)},
              2 * kLearningSeconds);
  }

  void measure(const Crowd& crowd) {
    part_.step(fmt::format("{} tenants", crowd.tenants));
    part_.begin_section(fmt::format("{} tenants of 12 GiB on 16 GiB", crowd.tenants));
    const double iterations = std::round(rate_ * plan_.work_s);
    std::vector<WorkloadTenant> tenants;
    for (std::size_t i = 1; i <= crowd.tenants; ++i) {
      tenants.push_back(part_.adding(fmt::format("tenant {}", i), kLargeBytes, iterations));
    }
    const double alone_s = iterations / rate_ * static_cast<double>(crowd.tenants);
    const MemoryRun seen = part_.run(tenants, alone_s);
    part_.add("makespan, of one after the other", {seen.run.makespan() / alone_s}, "x",
              makespan_target(part_.bench(), crowd));
    part_.add("longest time that one was not served", {seen.run.longest_gap()}, "s",
              part_.machine().simulated() ? std::nullopt : std::optional(kNotServed));
    part_.add_moved(seen);
  }

  // The driver's own slicing carries pages to whoever runs, all the time. It can hang a card, so
  // this is for the simulator alone.
  void measure_managed(const Crowd& crowd) {
    part_.step(fmt::format("{} tenants, Unified Memory", crowd.tenants));
    std::vector<WorkloadTenant> tenants;
    for (std::size_t i = 1; i <= crowd.tenants; ++i) {
      WorkloadTenant tenant =
          part_.adding(fmt::format("managed {}", i), kLargeBytes, crowd.managed_iterations);
      tenant.arguments.emplace_back("--managed");
      tenant.environment = bare_tenant();
      tenants.push_back(tenant);
    }
    const auto count = static_cast<double>(crowd.tenants);
    part_.begin_section(fmt::format("{} tenants of 12 GiB, Unified Memory, no nvshare", count));
    const WorkloadRun run =
        part_.run(tenants, count * crowd.managed_iterations * kManagedSecondsMax, Ending::kCut).run;
    part_.add(
        fmt::format("makespan, extrapolated from {} iterations each", crowd.managed_iterations),
        {run.makespan() / (count * crowd.managed_iterations / rate_)}, "x", kThrash);
  }

 private:
  MemoryPart& part_;
  Plan plan_;
  double rate_ = 0;
};

// Four tenants that fill their memory on the simulator take longer than a quick run may.
std::size_t crowds_of(const Bench& bench) {
  return bench.quick && bench.machine.simulated() ? 1 : kCrowds.size();
}

// Unified Memory knows nothing of a daemon that takes the GPU for a smaller one: where all tenants
// fit into the card, no page is carried.
bool fits_the_card(const Machine& machine, std::size_t tenants) {
  CUdevice device = 0;
  std::size_t bytes = 0;
  NVS_CALL(machine.driver(), cuDeviceGet, &device, 0);
  NVS_CALL(machine.driver(), cuDeviceTotalMem_v2, &bytes, device);
  const auto needed = static_cast<double>(tenants * kLargeBytes);
  return machine.nominal_bytes(static_cast<double>(bytes)) > needed;
}

bool with_managed(const Bench& bench) {
  return bench.machine.simulated() && !bench.quick &&
         !fits_the_card(bench.machine, kCrowds.front().tenants);
}

}  // namespace
}  // namespace oversub_case

void OversubCase::run(const Bench& bench) const {
  using namespace oversub_case;
  const auto crowds = static_cast<int>(crowds_of(bench));
  const bool learns = bench.machine.simulated() && !bench.quick;
  Progress progress(name(), (learns ? 2 : 1) + crowds * (with_managed(bench) ? 2 : 1));
  MemoryPart part(bench, progress);
  Oversubscription measurement(part, plan_for(bench));
  measurement.measure_alone();
  if (learns) measurement.learn_the_bus();
  for (std::size_t i = 0; i < crowds_of(bench); ++i) measurement.measure(kCrowds[i]);
  if (!with_managed(bench)) return;
  for (const Crowd& crowd : kCrowds) measurement.measure_managed(crowd);
}

}  // namespace nvs::bench
