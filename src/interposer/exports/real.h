// SPDX-License-Identifier: Apache-2.0
// The driver's own functions, as the program would have got them without us. They are filled once,
// before the first hook can be called, and never change.
#pragma once

#include <atomic>

#include "cuda_api/cuda.h"
#include "cuda_api/nvml.h"
#include "interposer/exports/rows.h"

// Read by assembly too. Relaxed atomics: whoever fills a place fills it with the same value, so two
// threads may attach at once without a lock (the loader's own lock could be held by either).
extern "C" {
extern std::atomic<void*> nvs_real[nvs::interposer::kRowCount]
    __attribute__((visibility("hidden")));
}

namespace nvs::interposer {

// The type of a row's function; rows without one (interop with OpenGL and the like) can only be
// jumped to.
template <Row row>
struct RowFunction;
#define NVS_CUDA_FUNCTION(symbol, ...) \
  template <>                          \
  struct RowFunction<Row::symbol> {    \
    using Type = decltype(::symbol);   \
  };
#define NVS_CUDA_VARIANT(symbol, base) NVS_CUDA_FUNCTION(symbol)
#include "spec/cuda_functions.def"
#undef NVS_CUDA_FUNCTION
#undef NVS_CUDA_VARIANT
// Of NVML, those that we call.
#define NVS_CUDA_HOOK(symbol, family, action)
#define NVS_NVML_HOOK(symbol, family, action) NVS_NVML_TYPE_##action(symbol)
#define NVS_NVML_TYPE_jump(symbol)
#define NVS_NVML_TYPE_own(symbol)    \
  template <>                        \
  struct RowFunction<Row::symbol> {  \
    using Type = decltype(::symbol); \
  };
#define NVS_NVML_TYPE_none(symbol) NVS_NVML_TYPE_own(symbol)
#include "spec/hooks.def"
#undef NVS_CUDA_HOOK
#undef NVS_NVML_HOOK
#undef NVS_NVML_TYPE_jump
#undef NVS_NVML_TYPE_own
#undef NVS_NVML_TYPE_none

inline void* real_address(std::size_t index) {
  return nvs_real[index].load(std::memory_order_relaxed);
}

// Null where this driver does not have the function.
template <Row row>
typename RowFunction<row>::Type* real() {
  return reinterpret_cast<typename RowFunction<row>::Type*>(real_address(index_of(row)));
}

}  // namespace nvs::interposer
