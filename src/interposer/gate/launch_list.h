// SPDX-License-Identifier: Apache-2.0
// One call can launch on several GPUs (cuLaunchCooperativeKernelMultiDevice). The gate asks for
// room for the first one's sake; the others count and are marked where their streams are.
#pragma once

#include "interposer/gate/gate.h"

namespace nvs::interposer::gate {

struct Launches {
  const CUDA_LAUNCH_PARAMS* list;  // the program's, for as long as its call lasts
  unsigned count;
  std::uint32_t gpus;  // where they are counted, one bit each
};

// All but the first of the call's.
Launches count_others(const Call& call);
void mark_others(const Launches& others);

}  // namespace nvs::interposer::gate
