// SPDX-License-Identifier: Apache-2.0
// The slots of all entry points whose type is known.
#include "tests/interposer/fake/behaviour_submit.h"
#include "tests/interposer/fake/function.h"
#include "tests/interposer/fake/proc_address.h"

#define NVS_CUDA_FUNCTION(symbol, ...)                                     \
  extern "C" [[gnu::visibility("hidden")]] void* const fake_slot_##symbol; \
  void* const fake_slot_##symbol = reinterpret_cast<void*>(                \
      &nvs::fake::Function<nvs::fake::Row::symbol,                         \
                           std::remove_pointer_t<decltype(&::symbol)>>::call);
#define NVS_CUDA_VARIANT(symbol, base) NVS_CUDA_FUNCTION(symbol)
#include "spec/cuda_functions.def"
#undef NVS_CUDA_FUNCTION
#undef NVS_CUDA_VARIANT
