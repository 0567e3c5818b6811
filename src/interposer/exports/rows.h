// SPDX-License-Identifier: Apache-2.0
// The hook table as an enumeration: one row for each entry point, with its name, its library and
// what happens in it. Everything is expanded from spec/hooks.def.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nvs::interposer {

enum class Row : std::uint32_t {
#define NVS_ROW(symbol, library, action) symbol,
#include "interposer/exports/rows.inc"
#undef NVS_ROW
};

enum class Library : std::uint8_t { cuda, nvml };

// gate: marked at the gate, then the driver. own: a function of nvs::hooks. jump: straight on to
// the driver. none: not hooked.
enum class Action : std::uint8_t { gate, own, jump, none };

struct RowFacts {
  const char* name;
  Library library;
  Action action;
};

inline constexpr RowFacts kRows[] = {
#define NVS_ROW(symbol, library, action) {#symbol, Library::library, Action::action},
#include "interposer/exports/rows.inc"
#undef NVS_ROW
};
inline constexpr std::size_t kRowCount = sizeof(kRows) / sizeof(kRows[0]);

constexpr std::size_t index_of(Row row) { return static_cast<std::size_t>(row); }
constexpr const RowFacts& facts_of(Row row) { return kRows[index_of(row)]; }
constexpr const char* row_name(Row row) { return facts_of(row).name; }
constexpr bool is_exported(const RowFacts& facts) { return facts.action != Action::none; }

// The exported row of that name; kRowCount if there is none. Uses no libc: sanitizers intercept
// string functions, and this runs before they are ready.
std::size_t find_exported(const char* name);

}  // namespace nvs::interposer
