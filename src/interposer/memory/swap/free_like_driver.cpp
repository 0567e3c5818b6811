// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/free_like_driver.h"

#include "interposer/exports/in_context.h"
#include "interposer/exports/real.h"
#include "interposer/memory/swap/allocate.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::swap {
namespace {

struct Scrap {
  std::uint64_t context;  // 0: free
  CUdeviceptr address;
};
constexpr int kScrapsMax = 64;
constexpr std::size_t kScrapBytes = 256;

constinit os::FutexLock scrap_lock;
constinit Scrap scraps[kScrapsMax] = {};

// False: the context has one, or there is no room for it.
bool put(std::uint64_t context, CUdeviceptr address) {
  const os::FutexGuard guard(scrap_lock);
  Scrap* place = nullptr;
  for (Scrap& scrap : scraps) {
    if (scrap.context == context) return false;
    if (place == nullptr && scrap.context == 0) place = &scrap;
  }
  if (place == nullptr) return false;
  *place = {context, address};
  return true;
}

// In the context that the memory belongs to, whichever the thread's own is.
CUdeviceptr make_scrap(std::uint64_t context) {
  CUdeviceptr address = 0;
  const InContext current(reinterpret_cast<CUcontext>(context));
  if (!current.is_set()) return 0;
  if (real<Row::cuMemAlloc_v2>()(&address, kScrapBytes) != CUDA_SUCCESS) address = 0;
  return address;
}

// Waits, or fails, as the driver does when it frees something of this context.
CUresult wait_as_for_free(std::uint64_t context) {
  CUdeviceptr scrap = take_scrap(context);
  if (scrap == 0) scrap = make_scrap(context);
  if (scrap == 0) return synchronise(reinterpret_cast<CUcontext>(context));  // a full card
  const CUresult result = real<Row::cuMemFree_v2>()(scrap);
  if (result != CUDA_SUCCESS) {
    put(context, scrap);
    return result;
  }
  keep_scrap(context, make_scrap(context));
  return CUDA_SUCCESS;
}

}  // namespace

bool is_ours(std::uint64_t address) {
  Allocated found;
  return find(address, found) && found.base == address;
}

CUresult free_like_driver(std::uint64_t address) {
  const libc::NoCancel no_cancel;
  Allocated found;
  if (!find(address, found) || found.base != address) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = wait_as_for_free(found.context);
  if (result != CUDA_SUCCESS) return result;
  return free(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUdeviceptr take_scrap(std::uint64_t context) {
  const os::FutexGuard guard(scrap_lock);
  for (Scrap& scrap : scraps) {
    if (scrap.context != context) continue;
    const CUdeviceptr address = scrap.address;
    scrap = {};
    return address;
  }
  return 0;
}

void keep_scrap(std::uint64_t context, CUdeviceptr scrap) {
  if (scrap == 0 || put(context, scrap)) return;
  const InContext current(reinterpret_cast<CUcontext>(context));
  if (current.is_set()) real<Row::cuMemFree_v2>()(scrap);
}

void forget_scraps_in_child() {
  scrap_lock.reset();
  for (Scrap& scrap : scraps) scrap = {};
}

}  // namespace nvs::interposer::swap
