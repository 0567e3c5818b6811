// SPDX-License-Identifier: Apache-2.0
// How an answer about an address is written to where the program wants it, which need not be
// aligned.
#pragma once

#include <cstdint>

#include "cuda_api/cuda_types.h"

namespace nvs::interposer::memory {

template <class Value>
CUresult put(void* out, Value value) {
  __builtin_memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}

// How wide the driver makes its truth values is not written anywhere; one byte is never too much.
inline CUresult put_bool(void* out, bool value) { return put<std::uint8_t>(out, value ? 1 : 0); }

}  // namespace nvs::interposer::memory
