// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/streams_case.h"

#include <array>

namespace nvs::bench {
namespace {

struct StreamsPlan {
  int rounds;
  double window_s;
};
StreamsPlan streams_plan_for(const Bench& bench) {
  return bench.quick ? StreamsPlan{1, 0.6} : StreamsPlan{3, 3};
}

struct Kernels {
  const char* title;
  Work work;
  double kernel_s;
};
constexpr std::array<Kernels, 2> kKernels = {{
    {"kernels of 1.7 ms, and copies of 4 MiB to the GPU", Work::kAdd, kKernelSeconds},
    {"kernels of 20 ms, and copies of 4 MiB to the GPU", Work::kMatmul, 0.020},
}};

constexpr std::size_t kBusy = 0;
constexpr std::size_t kNeighbour = 1;
// So that somebody has used the GPU lately, at any time.
constexpr double kRequestsPerSecond = 3;

// Percent of what the same program has bare. Each request takes a turn of the GPU from both.
const Target kOfKernels = {95, std::nullopt};
const Target kOfCopies = {90, std::nullopt};

}  // namespace

void StreamsCase::run(const Bench& bench) const {
  const StreamsPlan plan = streams_plan_for(bench);
  Progress progress(name(), 1 + 2 * plan.rounds * static_cast<int>(kKernels.size()));
  Sharing sharing(bench, progress);
  sharing.step("kernels and tenants");
  for (const Kernels& one : kKernels) sharing.add_load(one.work, one.kernel_s);
  Tenants bare = sharing.bare_tenants(1);
  Tenants shared = sharing.shared_tenants({"normal", "normal"});

  for (std::size_t load = 0; load < kKernels.size(); ++load) {
    sharing.begin_section(kKernels[load].title);
    std::vector<double> kernels;
    std::vector<double> copies;
    for (int round = 0; round < plan.rounds; ++round) {
      sharing.step("bare");
      const Task busy = copying_beside(kBusy, load);
      const nlohmann::json alone = sharing.measure(bare, {busy}, plan.window_s)[0];
      sharing.step("nvshare, beside a neighbour that sleeps");
      const Task seldom =
          arriving(kNeighbour, kRequestsPerSecond, static_cast<std::uint64_t>(round));
      const nlohmann::json beside = sharing.measure(shared, {busy, seldom}, plan.window_s)[0];
      const auto percent = [&](const char* what) {
        return 100 * beside.at(what).get<double>() / alone.at(what).get<double>();
      };
      kernels.push_back(percent("rate"));
      copies.push_back(percent("copies"));
    }
    sharing.add("kernels, of bare", kernels, "%", kOfKernels);
    sharing.add("copies, of bare", copies, "%", kOfCopies);
  }
}

}  // namespace nvs::bench
