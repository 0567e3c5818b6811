// SPDX-License-Identifier: Apache-2.0
// Numbers the entry points of the driver, so that a fake driver and the program that calls it mean
// the same one.
#pragma once

#include <array>
#include <cstddef>

namespace nvs::fake {

enum class Row : unsigned {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) symbol,
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
};

enum class Streams { any, legacy, per_thread, hidden };

/// How cuGetProcAddress knows an entry point.
struct Entry {
  const char* symbol;
  const char* name;
  int since;
  Streams streams;
};

inline constexpr std::size_t kEntryCount = 0
#define NVS_CUDA_ENTRY(symbol, name, since, streams) +1
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
    ;

inline constexpr std::array<Entry, kEntryCount> kEntries = {{
#define NVS_CUDA_ENTRY(symbol, name, since, streams) Entry{#symbol, #name, since, Streams::streams},
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
}};

constexpr unsigned index(Row row) { return static_cast<unsigned>(row); }

}  // namespace nvs::fake
