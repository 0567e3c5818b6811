// SPDX-License-Identifier: Apache-2.0
// The driver's own look-up. It is asked first, with the version and flags of the request, and its
// answer is replaced by address: so the hook always has the ABI that was asked for.
#include "interposer/debug/log.h"
#include "interposer/exports/own_hooks.h"
#include "interposer/exports/real.h"
#include "interposer/plain_string.h"
#include "interposer/resolve/attach.h"

namespace nvs::interposer {
namespace {

// A function of a newer driver that the table does not know, and that by its name submits work or
// allocates: worth a line, because it goes past the gate.
bool looks_like_a_gap(const char* name) {
  constexpr const char* kParts[] = {"Launch", "Memcpy", "Memset", "Alloc", "Prefetch", "BatchMem"};
  for (const char* part : kParts) {
    if (contains(name, part)) return true;
  }
  return false;
}

// Is it the function of any row, hooked or not?
bool is_known(void* address) {
  for (std::size_t i = 0; i < kRowCount; ++i) {
    if (real_address(i) == address) return true;
  }
  return false;
}

void replace(const char* name, void** function) {
  if (function == nullptr || *function == nullptr) return;
  if (debug::enabled() && name != nullptr && looks_like_a_gap(name) && !is_known(*function)) {
    debug::note_unknown_name(name);
  }
  *function = substitute(*function);
}

}  // namespace
}  // namespace nvs::interposer

namespace nvs::hooks {

using interposer::real;
using interposer::Row;

CUresult cuGetProcAddress(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags) {
  const CUresult result = real<Row::cuGetProcAddress>()(symbol, pfn, cudaVersion, flags);
  if (result == CUDA_SUCCESS) interposer::replace(symbol, pfn);
  return result;
}

CUresult cuGetProcAddress_v2(const char* symbol, void** pfn, int cudaVersion, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* symbolStatus) {
  const CUresult result =
      real<Row::cuGetProcAddress_v2>()(symbol, pfn, cudaVersion, flags, symbolStatus);
  if (result == CUDA_SUCCESS) interposer::replace(symbol, pfn);
  return result;
}

}  // namespace nvs::hooks
