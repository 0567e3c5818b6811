// SPDX-License-Identifier: Apache-2.0
// Rules that explicit and primary contexts have in common.
#pragma once

#include "cuda_api/cuda.h"

namespace nvs::sim {

/// One scheduling mode at most, and no bits that CUDA does not know.
inline bool valid_context_flags(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  const bool one_mode = schedule == 0 || (schedule & (schedule - 1)) == 0;
  return one_mode && (flags & ~unsigned{CU_CTX_FLAGS_MASK}) == 0;
}

}  // namespace nvs::sim
