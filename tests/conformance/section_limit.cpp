// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void get(Run& run) {
  for (int limit = 0; limit <= 10; ++limit) {
    std::size_t value = 77;
    CALL(cat("limit ", limit), cuCtxGetLimit, &value, as_enum<CUlimit>(limit));
    run.show(cat("limit ", limit), value);
  }
  std::size_t value = 0;
  CALL("limit -1", cuCtxGetLimit, &value, as_enum<CUlimit>(-1));
  CALL("limit 1000", cuCtxGetLimit, &value, as_enum<CUlimit>(1000));
  CALL("null", cuCtxGetLimit, nullptr, CU_LIMIT_STACK_SIZE);
}

void set(Run& run, CUlimit limit, const char* name, std::size_t value) {
  CALL(cat(name, " ", value), cuCtxSetLimit, limit, value);
  std::size_t got = 77;
  CALL(cat(name, " after ", value), cuCtxGetLimit, &got, limit);
  run.show(cat(name, " after ", value), got);
}

void set_all(Run& run) {
  for (const std::size_t value : {std::size_t{0}, std::size_t{1}, 2 * kKiB, std::size_t{3000}})
    set(run, CU_LIMIT_STACK_SIZE, "stack", value);
  set(run, CU_LIMIT_PRINTF_FIFO_SIZE, "printf", 2 * kMiB);
  set(run, CU_LIMIT_MALLOC_HEAP_SIZE, "heap", 16 * kMiB);
  set(run, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, "sync depth", 4);
  set(run, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, "pending launches", 4096);
  for (const std::size_t value :
       {std::size_t{0}, std::size_t{32}, std::size_t{100}, std::size_t{129}})
    set(run, CU_LIMIT_MAX_L2_FETCH_GRANULARITY, "L2 fetch", value);
  set(run, CU_LIMIT_PERSISTING_L2_CACHE_SIZE, "persisting L2", kMiB);
  CALL("limit -1", cuCtxSetLimit, as_enum<CUlimit>(-1), 1);
  CALL("limit 1000", cuCtxSetLimit, as_enum<CUlimit>(1000), 1);
}

void cache(Run& run) {
  CUfunc_cache config{};
  CALL("", cuCtxGetCacheConfig, &config);
  run.show("config at first", config);
  for (const int wanted : {1, 2, 3, 0, 4, -1}) {
    CALL(cat("config ", wanted), cuCtxSetCacheConfig, as_enum<CUfunc_cache>(wanted));
    CALL(cat("after ", wanted), cuCtxGetCacheConfig, &config);
    run.show(cat("config after ", wanted), config);
  }
  CALL("null", cuCtxGetCacheConfig, nullptr);
  CUsharedconfig shared{};
  CALL("", cuCtxGetSharedMemConfig, &shared);
  run.show("shared config at first", shared);
  for (const int wanted : {1, 2, 0, 3}) {
    CALL(cat("shared config ", wanted), cuCtxSetSharedMemConfig, as_enum<CUsharedconfig>(wanted));
    CALL(cat("after ", wanted), cuCtxGetSharedMemConfig, &shared);
    run.show(cat("shared config after ", wanted), shared);
  }
}

void peer(Run& run) {
  const CUcontext context = current_context(run);
  CALL("current context", cuCtxEnablePeerAccess, context, 0);
  CALL("current context, flags 1", cuCtxEnablePeerAccess, context, 1);
  CALL("null", cuCtxEnablePeerAccess, nullptr, 0);
  CALL("current context", cuCtxDisablePeerAccess, context);
  CALL("null", cuCtxDisablePeerAccess, nullptr);
  const CUcontext other = new_context(run);
  CALL("other context of the same device", cuCtxEnablePeerAccess, context, 0);
  CALL("other context of the same device, again", cuCtxEnablePeerAccess, context, 0);
  CALL("other context of the same device", cuCtxDisablePeerAccess, context);
  CALL("other context of the same device, again", cuCtxDisablePeerAccess, context);
  SETUP(cuCtxDestroy_v2, other);
}

void profiler(Run& run) {
  CALL("not started", cuProfilerStop);
  CALL("", cuProfilerStart);
  CALL("again", cuProfilerStart);
  CALL("", cuProfilerStop);
}

}  // namespace

Section limit_section() {
  return {
      "limit",
      Start::kContext,
      {{"get", get}, {"set", set_all}, {"cache", cache}, {"peer", peer}, {"profiler", profiler}}};
}

}  // namespace nvs::conformance
