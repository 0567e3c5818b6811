// SPDX-License-Identifier: Apache-2.0
// The streams that nobody creates. Functions are of two kinds in what a null handle means to them,
// so each hook gives it the handle that means the same to all.
#pragma once

#include "cuda_api/cuda_stream.h"

namespace nvs::interposer {

inline CUstream or_legacy(CUstream stream) { return stream != nullptr ? stream : CU_STREAM_LEGACY; }
inline CUstream or_per_thread(CUstream stream) {
  return stream != nullptr ? stream : CU_STREAM_PER_THREAD;
}

inline bool is_default_stream(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

}  // namespace nvs::interposer
