// SPDX-License-Identifier: Apache-2.0
// The hooks that are written by hand: a function in nvs::hooks for each row with action own, of the
// same type as the entry point that it stands for. A missing definition is an error of the linker.
#pragma once

#include "cuda_api/cuda.h"
#include "cuda_api/nvml.h"
#include "interposer/exports/rows.h"

namespace nvs::hooks {

#define NVS_ROW(symbol, library, action) NVS_ROW_DECLARE_##action(symbol)
#define NVS_ROW_DECLARE_gate(symbol)
#define NVS_ROW_DECLARE_own(symbol) decltype(::symbol) symbol __attribute__((visibility("hidden")));
#define NVS_ROW_DECLARE_jump(symbol)
#define NVS_ROW_DECLARE_none(symbol)
#include "interposer/exports/rows.inc"
#undef NVS_ROW
#undef NVS_ROW_DECLARE_gate
#undef NVS_ROW_DECLARE_own
#undef NVS_ROW_DECLARE_jump
#undef NVS_ROW_DECLARE_none

}  // namespace nvs::hooks
