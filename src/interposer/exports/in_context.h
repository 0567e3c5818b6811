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

// Waits for all work in a context, whichever the thread's own is. A thread without any cannot wait,
// as ever.
inline CUresult synchronise(CUcontext context) {
  CUcontext own = nullptr;
  const CUresult asked = real<Row::cuCtxGetCurrent>()(&own);
  if (asked != CUDA_SUCCESS) return asked;
  if (own == context || own == nullptr) return real<Row::cuCtxSynchronize>()();
  const InContext current(context);
  return current.is_set() ? real<Row::cuCtxSynchronize>()() : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace nvs::interposer
