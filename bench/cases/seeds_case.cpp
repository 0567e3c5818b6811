// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/seeds_case.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "bench/cases/quota_part.h"
#include "bench/cases/seeds_part.h"
#include "bench/failure.h"

namespace nvs::bench {
namespace seeds_case {
namespace {

// Tests 0, 1 and 2: one of these, without nvshare and under it.
struct Kind {
  const char* workload;
  const char* noun;
  const char* size;
  double facts;  // percent of bare
};
constexpr std::array<Kind, 3> kKinds = {{{"add", "task", "12 GB", 100 * 164 / 163.0},
                                         {"add-small", "task", "4 GB", 100 * 392.5 / 392},
                                         {"add-idle", "idle task", "4 GB", 100 * 444 / 445.0}}};
enum : std::size_t { kLarge, kSmall, kIdle };
constexpr double kOverheadMax = 101;
constexpr double kSimulatedOverheadMax = 102;

// Tests 3 to 6: some of a kind on each GPU.
struct Crowd {
  int test;
  std::size_t kind;
  int each;
  int gpus_max;
  const char* mode;
  double facts;  // times one alone, on average
  // The last one may be done so many times later than one alone.
  double last_max;
  double simulated_last_max;
};
constexpr std::array<Crowd, 5> kCrowds = {
    {{3, kLarge, 2, kGpusMax, "serial", 327 / 163.0, 2 * 1.05, 2 * 1.10},
     {3, kLarge, 2, kGpusMax, "auto", 329 / 163.0, 2 * 1.05, 2 * 1.10},
     {4, kSmall, 2, kGpusMax, "auto", 867 / 392.0, 2 * 1.01, 2 * 1.03},
     {5, kIdle, 3, kGpusMax, "auto", 482 / 445.0, 1.03, 1.03},
     // Under Unified Memory it took 15 hours and was not done.
     {6, kLarge, 4, 1, "auto", 15 * 3600 / 163.0, 4 * 1.06, 4 * 1.10}}};

// Of work for each task: some changes of turn.
constexpr double kLearningSeconds = 4;

// Of what tenants can have together, so much must be there again once a bare task has gone.
constexpr double kCapacityShare = 0.95;
constexpr double kPatienceSeconds = 15;
constexpr double kLookSeconds = 0.05;

class Seeds {
 public:
  Seeds(MemoryPart& part, const SeedsPlan& plan)
      : part_(part), plan_(plan), gpus_(gpus_of(part)), capacity_(capacity()) {}

  void measure_alone(std::size_t index) {
    const Kind& kind = kKinds[index];
    begin(fmt::format("Test {}: one {} of {}", index, kind.noun, kind.size));
    WorkloadTenant without = task(part_, "bare", kind.workload, for_seconds(part_, plan_.alone_s));
    without.environment = bare_tenant();
    WorkloadRun bare = part_.run({without}, plan_.alone_s).run;
    wait_for_capacity();
    const WorkloadRun shared =
        part_
            .run({task(part_, "nvshare", kind.workload, iterations(bare.tenants[0].iterations))},
                 plan_.alone_s)
            .run;
    bare.ended.push_back(shared.ended[0]);
    part_.show(bare.ended);
    part_.add("under nvshare, of bare", {100 * shared.makespan() / bare.makespan()}, "%",
              target(kOverheadMax, kSimulatedOverheadMax), kind.facts);
    alone_.push_back(bare.tenants[0]);
  }

  // As in the case `oversub`: the daemon's guess of how fast memory moves is far off on the
  // simulator, until it has seen it.
  void learn_the_bus() {
    part_.step("the daemon learns the bus");
    part_.run(tasks(kCrowds[0], for_seconds(part_, kLearningSeconds)), kLearningSeconds);
  }

  void measure(const Crowd& crowd) {
    const std::string mode = crowd.kind == kLarge ? fmt::format(", {}", crowd.mode) : "";
    const Kind& kind = kKinds[crowd.kind];
    begin(fmt::format("Test {}: {} {}s of {} on {} GPU{}", crowd.test, crowd.each, kind.noun,
                      kind.size, crowd.gpus_max == 1 ? "one" : "each", mode));
    const int times = crowd.kind == kLarge ? plan_.times : 1;
    const WorkloadResult& alone = alone_.at(crowd.kind);
    const double alone_s = alone.seconds * times;
    part_.daemon().set_mode(crowd.mode);
    const WorkloadRun run =
        part_.run(tasks(crowd, iterations(alone.iterations * times)), crowd.each * alone_s).run;
    part_.daemon().set_mode("auto");
    part_.show(run.ended);
    const double sum = std::accumulate(
        run.tenants.begin(), run.tenants.end(), 0.0,
        [](double before, const WorkloadResult& tenant) { return before + tenant.seconds; });
    const double average_s = sum / static_cast<double>(run.tenants.size());
    part_.add("on average, times one alone", {average_s / alone_s}, "x", std::nullopt, crowd.facts);
    part_.add("the last one, times one alone", {run.makespan() / alone_s}, "x",
              target(crowd.last_max, crowd.simulated_last_max));
  }

 private:
  double capacity() const {
    return part_.daemon().status().at("gpus").at(0).at("capacity_bytes").get<double>();
  }
  // The memory of a task that is no tenant is nobody's to share, and the daemon looks at that once
  // a second: for a moment the task is gone and its memory is not.
  void wait_for_capacity() const {
    const std::int64_t deadline = now_ns() + nanoseconds(kPatienceSeconds);
    while (capacity() < kCapacityShare * capacity_) {
      if (now_ns() > deadline) throw Failure("the memory of a task that has ended stays taken");
      sleep_until_ns(now_ns() + nanoseconds(kLookSeconds));
    }
  }
  void begin(const std::string& title) {
    part_.step(title);
    part_.begin_section(title);
  }
  static std::vector<std::string> iterations(double count) {
    return {"--iterations", fmt::format("{:.0f}", count)};
  }
  std::vector<WorkloadTenant> tasks(const Crowd& crowd,
                                    const std::vector<std::string>& options) const {
    std::vector<WorkloadTenant> result;
    for (int gpu = 0; gpu < std::min(gpus_, crowd.gpus_max); ++gpu) {
      for (int i = 0; i < crowd.each; ++i) {
        const std::string label = fmt::format("task {}", result.size() + 1);
        result.push_back(task(part_, label, kKinds[crowd.kind].workload, options, gpu));
      }
    }
    return result;
  }
  // A quick run is shorter than a turn: nothing is promised of it.
  std::optional<Target> target(double most, double simulated_most) const {
    if (part_.bench().quick) return std::nullopt;
    return Target{std::nullopt, part_.machine().simulated() ? simulated_most : most};
  }

  MemoryPart& part_;
  SeedsPlan plan_;
  int gpus_;
  double capacity_;                    // of the first GPU, with nobody there
  std::vector<WorkloadResult> alone_;  // one a kind, bare
};

// Four tasks that fill their memory on the simulator take longer than a quick run may.
std::size_t crowds_of(const Bench& bench) {
  return kCrowds.size() - (bench.quick && bench.machine.simulated() ? 1 : 0);
}

}  // namespace
}  // namespace seeds_case

void SeedsCase::run(const Bench& bench) const {
  using namespace seeds_case;
  const bool learns = bench.machine.simulated() && !bench.quick;
  Progress progress(name(), static_cast<int>(kKinds.size() + crowds_of(bench)) + (learns ? 1 : 0) +
                                quota_steps());
  const SeedsPlan plan = seeds_plan_for(bench);
  MemoryPart part(bench, progress, std::nullopt, quota_case::daemon_options(bench));
  Seeds seeds(part, plan);
  for (std::size_t kind = 0; kind < kKinds.size(); ++kind) seeds.measure_alone(kind);
  if (learns) seeds.learn_the_bus();
  for (std::size_t i = 0; i < crowds_of(bench); ++i) seeds.measure(kCrowds[i]);
  if (crowds_of(bench) < kCrowds.size()) progress.note("no rows of test 6: it is not quick");
  measure_quotas(part, plan);
}

}  // namespace nvs::bench
