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
    const auto kind = reinterpret_cast<std::uintptr_t>(launch.function);
    if (gpu >= 0 && flow::count(gpu, launch.hStream, kind)) others.gpus |= 1U << gpu;
  }
  return others;
}

void mark_others(const Launches& others) {
  for (unsigned i = 1; i < others.count && others.gpus != 0; ++i) {
    const int gpu = gpu_of_launch(others.list[i]);
    if (gpu >= 0 && (others.gpus & 1U << gpu) != 0) flow::mark(gpu, others.list[i].hStream);
  }
}

}  // namespace nvs::interposer::gate
