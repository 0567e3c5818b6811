// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/call_time.h"

namespace nvs::sim {
namespace {

thread_local Nanos began = 0;

}  // namespace

void begin_call() { began = now_ns(); }

Nanos call_began() { return began; }

}  // namespace nvs::sim
