// SPDX-License-Identifier: Apache-2.0
#include "tests/interposer/fake/proc_address.h"

#include <string_view>

// Only the addresses are wanted here, and these names have other types where they have any. Hidden:
// the driver's own, whoever else exports the same name.
#define NVS_CUDA_ENTRY(symbol, name, since, streams) \
  extern "C" [[gnu::visibility("hidden")]] const char address_of_##symbol asm("own_" #symbol);
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY

namespace nvs::fake {
namespace {

const std::array<const char*, kEntries.size()> kAddresses = {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) &address_of_##symbol,
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
};

// A variant of the driver that has every second entry point alone does not know the others.
constexpr bool is_present([[maybe_unused]] unsigned row) {
#ifdef NVS_FAKE_HALF
  return row % 2 == NVS_FAKE_HALF;
#else
  return true;
#endif
}

bool fits(Streams streams, cuuint64_t flags) {
  if (streams == Streams::any) return true;
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  return streams == (per_thread ? Streams::per_thread : Streams::legacy);
}

}  // namespace

CUresult proc_address(const char* name, void** function, int version, cuuint64_t flags,
                      CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || function == nullptr || flags > 2) return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  bool known = false;
  int best = -1;
  for (unsigned row = 0; row < kEntries.size(); ++row) {
    const Entry& entry = kEntries[row];
    if (!is_present(row) || std::string_view(name) != entry.name) continue;
    if (!fits(entry.streams, flags)) continue;
    known = true;
    if (entry.since > version || entry.since <= best) continue;
    best = entry.since;
    *function = const_cast<char*>(kAddresses[row]);
  }
  if (status != nullptr) {
    *status = *function != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known              ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                   : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return CUDA_SUCCESS;
  }
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace nvs::fake
