// SPDX-License-Identifier: Apache-2.0
// While one of these lives, a context is the calling thread's current one; then the old one is
// again.
#pragma once

#include "interposer/exports/real.h"

namespace nvs::interposer {

class InContext {
 public:
  explicit InContext(CUcontext context) {
    is_set_ = real<Row::cuCtxPushCurrent_v2>()(context) == CUDA_SUCCESS;
  }
  ~InContext() {
    CUcontext popped = nullptr;
    if (is_set_) real<Row::cuCtxPopCurrent_v2>()(&popped);
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  bool is_set() const { return is_set_; }

 private:
  bool is_set_ = false;
};

}  // namespace nvs::interposer
