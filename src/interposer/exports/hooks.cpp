// SPDX-License-Identifier: Apache-2.0
#include "interposer/exports/hooks.h"

#include "interposer/exports/own_hooks.h"
#include "interposer/exports/stub_size.h"
#include "interposer/gate/gated_call.h"

extern "C" {
extern char nvs_exports[] __attribute__((visibility("hidden")));
extern char nvs_jumps[] __attribute__((visibility("hidden")));
}

namespace nvs::interposer {

void* hook_of(std::size_t index) {
  // The casts stand here and not in a function, so that this is data: there is no lock for a table
  // that would have to be filled at run time.
  static void* const kWritten[] = {
#define NVS_ROW(symbol, library, action) NVS_ROW_HOOK_##action(symbol)
#define NVS_ROW_HOOK_gate(symbol) reinterpret_cast<void*>(&GatedCall<Row::symbol>::call),
#define NVS_ROW_HOOK_own(symbol) reinterpret_cast<void*>(&hooks::symbol),
#define NVS_ROW_HOOK_jump(symbol) nullptr,
#define NVS_ROW_HOOK_none(symbol) nullptr,
#include "interposer/exports/rows.inc"
#undef NVS_ROW
#undef NVS_ROW_HOOK_gate
#undef NVS_ROW_HOOK_own
#undef NVS_ROW_HOOK_jump
#undef NVS_ROW_HOOK_none
  };
  static_assert(sizeof(kWritten) / sizeof(kWritten[0]) == kRowCount);
  if (kRows[index].action == Action::jump) return nvs_jumps + index * NVS_STUB_SIZE;
  return kWritten[index];
}

std::size_t exported_at(const void* address) {
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(nvs_exports);
  // An address below the first wraps around and is too large as well.
  const std::size_t index = offset / NVS_STUB_SIZE;
  if (index >= kRowCount || offset % NVS_STUB_SIZE != 0) return kRowCount;
  return index;
}

}  // namespace nvs::interposer
