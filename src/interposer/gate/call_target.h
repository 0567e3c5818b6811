// SPDX-License-Identifier: Apache-2.0
// For whom a closed gate is closed: the GPU that a call is for, and whether it submits anything at
// all. The driver is asked, because contexts and captures are its business; only calls that may
// have to wait pay for it.
#pragma once

#include "interposer/gate/gate.h"

namespace nvs::interposer::gate {

struct Target {
  bool captured;  // the call only adds to a graph that is being captured
  // -1: none, the driver will refuse the call; or it is captured, and the process has one GPU.
  int gpu;
};

Target target_of(const Call& call);

// -1: the driver refuses it, or has more GPUs than we count.
int gpu_of(CUcontext context);

// Those that the call itself says it is for, beside its stream's: one bit each. All of them, if it
// names a context that is not known.
std::uint32_t gpus_named_by(const Call& call);

// Or, of a default stream, whether a capture elsewhere forbids to add to it. Asking harms none.
bool is_captured(CUstream stream);

}  // namespace nvs::interposer::gate
