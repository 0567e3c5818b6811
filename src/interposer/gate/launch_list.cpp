// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/launch_list.h"

#include "interposer/flow/flow.h"
#include "interposer/gate/call_target.h"

namespace nvs::interposer::gate {
namespace {

int gpu_of_launch(const CUDA_LAUNCH_PARAMS& launch) {
  const Call call{0, launch.hStream, true, false, 0};
  return target_of(call).gpu;
}

}  // namespace

Launches count_others(const Call& call) {
  Launches others{call.launches, call.launch_count, 0};
  for (unsigned i = 1; i < others.count; ++i) {
    const CUDA_LAUNCH_PARAMS& launch = others.list[i];
    const int gpu = gpu_of_launch(launch);
    if (gpu < 0) continue;
    // The driver refuses two on one GPU; one count then goes with one mark all the same.
    if ((others.gpus & 1U << gpu) != 0) {
      flow::lose_track(gpu);
      continue;
    }
    const auto kind = reinterpret_cast<std::uintptr_t>(launch.function);
    if (flow::count(gpu, launch.hStream, kind)) others.gpus |= 1U << gpu;
  }
  return others;
}

void mark_others(const Launches& others) {
  std::uint32_t left = others.gpus;
  for (unsigned i = 1; i < others.count && left != 0; ++i) {
    const int gpu = gpu_of_launch(others.list[i]);
    if (gpu < 0 || (left & 1U << gpu) == 0) continue;
    flow::mark(gpu, others.list[i].hStream);
    left &= ~(1U << gpu);
  }
}

}  // namespace nvs::interposer::gate
