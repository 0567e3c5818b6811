// SPDX-License-Identifier: Apache-2.0
// The quotas of the seeds: tasks with caps on their GPU time, alone on a GPU and together.
#include <array>
#include <optional>

#include <fmt/format.h>

#include "bench/cases/quota_part.h"
#include "bench/cases/seeds_part.h"

namespace nvs::bench::seeds_case {
namespace {

// Small enough that the program waits for the GPU within a window, on a T4 too.
constexpr const char* kWorkload = "add-small";
constexpr const char* kSize = "1GiB";

struct Cap {
  int gpu;
  int percent;
  std::optional<double> facts{};  // what it got
};
struct Matrix {
  const char* title;
  std::vector<Cap> caps;
  int gpus_min = 1;  // it says nothing on fewer; else what is on the first GPU says enough
  // Where FACTS.md has no percentages: what it says of all, and that in a word.
  const char* facts = "";
  const char* facts_word = "";
};
const std::array<Matrix, 6>& matrices() {
  static const std::array<Matrix, 6> all = {{
      {"Quota: 25 %, alone", {{0, 25, 24.2}}},
      {"Quota: 50 %, alone", {{0, 50, 46.4}}},
      {"Quota: 75 %, alone", {{0, 75, 66.2}}},
      {"Quota: 30 % on each GPU", {{0, 30, 44}, {1, 30, 44}}},
      {"Quota: 30 and 60 %, a GPU each", {{0, 30, 30.6}, {1, 60, 59.1}}, 2},
      {"Quota: 30 and 60 % on each GPU",
       {{0, 30}, {0, 60}, {1, 30}, {1, 60}},
       1,
       ", in the seeds all alike, 1800 to 2050 s (unsolved)",
       "alike"},
  }};
  return all;
}

class Quotas {
 public:
  Quotas(MemoryPart& part, const SeedsPlan& plan)
      : part_(part), plan_(plan), gpus_(gpus_of(part)) {}

  void measure_alone() {
    part_.step("Quota: without a cap");
    part_.begin_section("Quota: without a cap");
    const WorkloadRun run = part_.run({capped("no cap", {0, 0})}, plan_.capped_s).run;
    part_.show(run.ended);
    rate_ = run.tenants[0].rate_from(plan_.settle_s);
    part_.add("one iteration", {1e3 / rate_}, "ms");
  }

  void measure(const Matrix& matrix) {
    part_.step(matrix.title);
    if (gpus_ < matrix.gpus_min) {
      part_.note(fmt::format("no rows of '{}': there is one GPU", matrix.title));
      return;
    }
    part_.begin_section(std::string(matrix.title) + matrix.facts);
    std::vector<Cap> caps;
    std::vector<WorkloadTenant> tenants;
    for (const Cap& cap : matrix.caps) {
      if (cap.gpu >= gpus_) continue;
      caps.push_back(cap);
      tenants.push_back(capped(fmt::format("{} %", cap.percent), cap));
    }
    const WorkloadRun run = part_.run(tenants, plan_.capped_s).run;
    part_.show(run.ended);
    for (std::size_t i = 0; i < caps.size(); ++i) {
      part_.add(fmt::format("cap {} % on GPU {}, got", caps[i].percent, caps[i].gpu),
                {100 * run.tenants[i].rate_from(plan_.settle_s) / rate_}, "%",
                target(caps[i].percent), caps[i].facts, matrix.facts_word);
    }
  }

 private:
  WorkloadTenant capped(const std::string& label, const Cap& cap) const {
    WorkloadTenant tenant =
        task(part_, label, kWorkload, for_seconds(part_, plan_.capped_s), cap.gpu);
    tenant.arguments.insert(tenant.arguments.end(), {"--size", kSize});
    if (cap.percent > 0) tenant.environment["NVSHARE_GPU_CORE_LIMIT"] = std::to_string(cap.percent);
    return tenant;
  }
  // Some periods of accounts are too few to tell.
  std::optional<Target> target(int percent) const {
    if (part_.bench().quick) return std::nullopt;
    return quota_case::near(percent, quota_case::kPoints);
  }

  MemoryPart& part_;
  SeedsPlan plan_;
  int gpus_;
  double rate_ = 0;  // of one without a cap, alone
};

}  // namespace

int quota_steps() { return 1 + static_cast<int>(matrices().size()); }

void measure_quotas(MemoryPart& part, const SeedsPlan& plan) {
  Quotas quotas(part, plan);
  quotas.measure_alone();
  for (const Matrix& matrix : matrices()) quotas.measure(matrix);
}

}  // namespace nvs::bench::seeds_case
