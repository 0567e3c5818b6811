// SPDX-License-Identifier: Apache-2.0
// Entry points: limits, cache preferences and priorities of the current context.
#include "cuda_sim/api/call.h"

using namespace nvs::sim;

namespace {

constexpr std::size_t kStackGranule = 16;
constexpr std::size_t kFetchMax = 128;
constexpr int kCacheWays = 16;  // what the L2 cache is divided by when some of it is set aside

struct Limit {
  CUlimit limit;
  std::size_t initial;
  bool supported;
};

// Read off an H200.
constexpr Limit kLimits[] = {
    {CU_LIMIT_STACK_SIZE, 1024, true},
    {CU_LIMIT_PRINTF_FIFO_SIZE, 8650752, true},
    {CU_LIMIT_MALLOC_HEAP_SIZE, 8388608, true},
    {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 0, false},
    {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048, true},
    {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64, true},
    {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0, true},
    {CU_LIMIT_SHMEM_SIZE, 0, true},
    {CU_LIMIT_CIG_ENABLED, 0, true},
    {CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED, 0, false},
};

CUresult find_limit(CUlimit limit, const Limit*& out) {
  for (const Limit& candidate : kLimits) {
    if (candidate.limit != limit) continue;
    out = &candidate;
    return candidate.supported ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

std::size_t cache_way() {
  return static_cast<std::size_t>(driver().machine->model().l2_bytes / kCacheWays);
}

std::size_t initial_value(const Limit& limit) {
  if (limit.limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) return 3 * cache_way();
  if (limit.limit == CU_LIMIT_SHMEM_SIZE) {
    return static_cast<std::size_t>(driver().machine->model().shared_per_block_optin);
  }
  return limit.initial;
}

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

NVS_SIM(cuCtxGetLimit, (size_t * value, CUlimit limit), value, limit) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const Limit* known = nullptr;
  if (const CUresult result = find_limit(limit, known); result != CUDA_SUCCESS) return result;
  const auto set = context->limits.find(limit);
  *value = set == context->limits.end() ? initial_value(*known) : set->second;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxSetLimit, (CUlimit limit, size_t value), limit, value) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  const Limit* known = nullptr;
  if (const CUresult result = find_limit(limit, known); result != CUDA_SUCCESS) return result;
  if (limit == CU_LIMIT_STACK_SIZE) value = round_up(value, kStackGranule);
  if (limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE) value = round_up(value, cache_way());
  if (limit == CU_LIMIT_MAX_L2_FETCH_GRANULARITY && value > kFetchMax) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxGetCacheConfig, (CUfunc_cache * config), config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  *config = context->cache_config;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxSetCacheConfig, (CUfunc_cache config), config) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  context->cache_config = config;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxGetSharedMemConfig, (CUsharedconfig * config), config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  *config = context->shared_config;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxSetSharedMemConfig, (CUsharedconfig config), config) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if (config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;  // the bank size of current devices is fixed
}

NVS_SIM(cuCtxGetStreamPriorityRange, (int* least, int* greatest), least, greatest) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxResetPersistingL2Cache, (), ) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  return CUDA_SUCCESS;
}

// Measured on an H200: the mode is not looked at.
NVS_SIM(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode), mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::swap(*mode, thread_capture_mode());
  return CUDA_SUCCESS;
}

// There is no profiler to start; programs that bracket a part of their run with these go on.
NVS_SIM(cuProfilerStart, (), ) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  return CUDA_SUCCESS;
}

NVS_SIM(cuProfilerStop, (), ) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  return CUDA_SUCCESS;
}
