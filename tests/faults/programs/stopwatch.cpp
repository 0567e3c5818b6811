// SPDX-License-Identifier: Apache-2.0
// A tenant that times kernels with events, as autotuners do, one step at each word of the test.
#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kKernelNs = 1'000'000;

}  // namespace

// stopwatch ROUNDS
int stopwatch(int argc, char** argv) {
  if (argc < 1) return 2;
  const Gpu gpu;
  CUstream const stream = gpu.stream();
  CUevent const start = gpu.event();
  CUevent const end = gpu.event();
  say("ready");
  for (unsigned round = 0; round < number(argv[0]); ++round) {
    wait_for_word();
    NVS_MUST(gpu->cuEventRecord(start, stream));
    say("started");
    wait_for_word();
    NVS_MUST(gpu.spin(kKernelNs, stream));
    NVS_MUST(gpu->cuEventRecord(end, stream));
    NVS_MUST(gpu->cuEventSynchronize(end));
    float milliseconds = -1;
    NVS_MUST(gpu->cuEventElapsedTime_v2(&milliseconds, start, end));
    say("took " + std::to_string(milliseconds));
  }
  return 0;
}

}  // namespace nvs::faults
