// SPDX-License-Identifier: Apache-2.0
// Entry points: finding the others by name, version and default stream, as the driver this was read
// off does.
#include <algorithm>
#include <string_view>

#include "cuda_sim/api/call.h"

using namespace nvs::sim;

// The linker fills in every address; entries without an implementation are the stubs of
// unsupported.cpp. Most of these symbols are declared with their types, so the addresses are taken
// under names of their own.
extern "C" {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) \
  extern char nvs_sim_address_of_##symbol __asm__(#symbol);
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
}

namespace {

enum class Streams { any, legacy, per_thread, hidden };

struct Entry {
  std::string_view name;
  int since;
  Streams streams;
  void* address;
};

const Entry kEntries[] = {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) \
  {#name, since, Streams::streams, &nvs_sim_address_of_##symbol},
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
};

struct Found {
  void* address = nullptr;
  bool known = false;  // under that name, if not in that version
};

// Measured on an H200: even the oldest entry points are unknown to versions before this.
constexpr int kFirstVersion = 2000;

Found look_up(std::string_view name, int version, Streams wanted) {
  Found found;
  int best = -1;
  for (const Entry& entry : kEntries) {
    if (entry.name != name || entry.streams == Streams::hidden) continue;
    found.known = true;
    if (entry.streams != Streams::any && entry.streams != wanted) continue;
    const int since = std::max(entry.since, kFirstVersion);
    if (since > version || since < best) continue;
    best = since;
    found.address = entry.address;
  }
  return found;
}

CUresult resolve(const char* symbol, void** out, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  if (symbol == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr cuuint64_t kKnown =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if ((flags & ~kKnown) != 0 || version > CUDA_VERSION) return CUDA_ERROR_INVALID_VALUE;
  if (version < 0) version = CUDA_VERSION;  // measured on an H200: -1 means the newest
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const Found found = look_up(symbol, version, per_thread ? Streams::per_thread : Streams::legacy);
  *out = found.address;
  if (status != nullptr) {
    *status = found.address != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : found.known            ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                                       : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM_NEEDS(cuGetProcAddress_v2, Needs::nothing,
              (const char* symbol, void** out, int version, cuuint64_t flags,
               CUdriverProcAddressQueryResult* status),
              symbol, out, version, flags, status) {
  return resolve(symbol, out, version, flags, status);
}

NVS_SIM_NEEDS(cuGetProcAddress, Needs::nothing,
              (const char* symbol, void** out, int version, cuuint64_t flags), symbol, out, version,
              flags) {
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  void* found = nullptr;
  const CUresult result =
      resolve(symbol, out == nullptr ? nullptr : &found, version, flags, &status);
  if (result != CUDA_SUCCESS) return result;
  if (status != CU_GET_PROC_ADDRESS_SUCCESS) return CUDA_ERROR_NOT_FOUND;
  *out = found;
  return CUDA_SUCCESS;
}
