// SPDX-License-Identifier: Apache-2.0
// The class of each row of spec/hooks.def, which says what the entry point is about; its action, in
// rows.h, says what is done about it.
#pragma once

#include "interposer/exports/rows.h"

namespace nvs::interposer {

enum class RowClass : std::uint8_t {
  submit,
  alloc,
  free,
  query,
  event,
  names_memory,
  capture,
  context,
  share,
  lookup,
  pass,
};

inline constexpr RowClass kRowClasses[] = {
#define NVS_CUDA_HOOK(symbol, family, action) RowClass::family,
#define NVS_NVML_HOOK(symbol, family, action) RowClass::family,
#include "spec/hooks.def"
#undef NVS_CUDA_HOOK
#undef NVS_NVML_HOOK
};
static_assert(sizeof(kRowClasses) / sizeof(kRowClasses[0]) == kRowCount);

constexpr RowClass class_of(Row row) { return kRowClasses[index_of(row)]; }

}  // namespace nvs::interposer
