// SPDX-License-Identifier: Apache-2.0
// How the driver checks work before it takes it, whether it comes from a call, a capture or a graph
// node.
#pragma once

#include "cuda_sim/api/call.h"

namespace nvs::sim {

CUresult check_memset(Driver& d, const MemsetWork& work);

struct LaunchShape {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
};

/// Checks a launch and copies its arguments, from either of the two ways a program can pass them.
CUresult make_kernel_work(Driver& d, CUfunction handle, const LaunchShape& shape, void** arguments,
                          void** extra, KernelWork& out);

}  // namespace nvs::sim
