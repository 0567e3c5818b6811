// SPDX-License-Identifier: Apache-2.0
// What the parts of the case `seeds` share: how long its tasks are, the tasks themselves, and where
// they run.
#pragma once

#include <string>
#include <vector>

#include "bench/cases/memory_part.h"

namespace nvs::bench::seeds_case {

// Seconds are nominal.
struct SeedsPlan {
  double alone_s;  // of a task with a GPU to itself
  int times;       // tasks that do not fit are so many times as long: turns are, too
  double settle_s;
  double capped_s;  // of tasks with a cap; what each gets before it has settled does not count
};
SeedsPlan seeds_plan_for(const Bench& bench);

// As the seeds had. Where there is one, tests of GPUs that are all alike run on it.
inline constexpr int kGpusMax = 2;
int gpus_of(const MemoryPart& part);

// The workload of that name, with these options, under nvshare.
WorkloadTenant task(const MemoryPart& part, const std::string& label, const std::string& workload,
                    const std::vector<std::string>& options, int gpu = 0);
std::vector<std::string> for_seconds(const MemoryPart& part, double seconds);

// What the seeds measured of a cap, and what is measured here: a section for each line of FACTS.md.
void measure_quotas(MemoryPart& part, const SeedsPlan& plan);
int quota_steps();

}  // namespace nvs::bench::seeds_case
