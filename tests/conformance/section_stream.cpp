// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <string>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void create(Run& run) {
  CUstream stream = nullptr;
  for (const unsigned flags : {0U, 1U, 2U, 4U, 0x80000000U}) {
    if (CALL(cat("flags ", flags), cuStreamCreate, &stream, flags) != CUDA_SUCCESS) continue;
    unsigned got = 77;
    CALL(cat("created with ", flags), cuStreamGetFlags, stream, &got);
    run.show(cat("flags of ", flags), got);
    CALL(cat("created with ", flags), cuStreamDestroy_v2, stream);
  }
  CALL("null", cuStreamCreate, nullptr, 0);
  for (const int priority : {-100, -5, -1, 0, 1, 100}) {
    CALL(cat("priority ", priority), cuStreamCreateWithPriority, &stream, 1, priority);
    int got = 77;
    CALL(cat("created with ", priority), cuStreamGetPriority, stream, &got);
    run.show(cat("priority of ", priority), got);
    CALL(cat("created with ", priority), cuStreamDestroy_v2, stream);
  }
  CALL("flags 8", cuStreamCreateWithPriority, &stream, 8, 0);
  CALL("null", cuStreamCreateWithPriority, nullptr, 0, 0);
}

void destroy(Run& run) {
  CALL("null", cuStreamDestroy_v2, nullptr);
  CALL("legacy", cuStreamDestroy_v2, CU_STREAM_LEGACY);
  CALL("per-thread", cuStreamDestroy_v2, CU_STREAM_PER_THREAD);
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  run.show("spin", launch_spin(run, kernels.spin, 20'000'000, stream));
  run.show("fill", launch_fill(run, kernels.fill, address, 4, 16, stream));
  CALL("with work queued", cuStreamDestroy_v2, stream);
  CALL("after that", cuCtxSynchronize);
  run.show("queued work was done", read_float(run, address, 3) == 4.0F);
}

void queries(Run& run, const char* what, CUstream stream) {
  CALL(what, cuStreamQuery, stream);
  CALL(what, cuStreamSynchronize, stream);
  unsigned flags = 77;
  CALL(what, cuStreamGetFlags, stream, &flags);
  run.show(cat("flags of ", what), flags);
  int priority = 77;
  CALL(what, cuStreamGetPriority, stream, &priority);
  run.show(cat("priority of ", what), priority);
  CUcontext context = nullptr;
  CALL(what, cuStreamGetCtx, stream, &context);
  run.show(cat("context of ", what, " is current"), context == current_context(run));
  CUgreenCtx green = reinterpret_cast<CUgreenCtx>(std::uintptr_t{77});
  CALL(what, cuStreamGetCtx_v2, stream, &context, &green);
  run.show(cat("green context of ", what), green != nullptr);
  CUdevice device = -7;
  CALL(what, cuStreamGetDevice, stream, &device);
  run.show(cat("device of ", what), device);
  CUstreamCaptureStatus status{};
  CALL(what, cuStreamIsCapturing, stream, &status);
  run.show(cat("capture status of ", what), status);
}

void kinds(Run& run) {
  queries(run, "null", nullptr);
  queries(run, "legacy", CU_STREAM_LEGACY);
  queries(run, "per-thread", CU_STREAM_PER_THREAD);
  queries(run, "created", new_stream(run));
}

void null_results(Run& run) {
  const CUstream stream = new_stream(run);
  CALL("null result", cuStreamGetFlags, stream, nullptr);
  CALL("null result", cuStreamGetPriority, stream, nullptr);
  CALL("null result", cuStreamGetCtx, stream, nullptr);
  CALL("null result", cuStreamGetId, stream, nullptr);
  CALL("null result", cuStreamGetDevice, stream, nullptr);
  CALL("null result", cuStreamIsCapturing, stream, nullptr);
}

void ids(Run& run) {
  unsigned long long first = 0;
  unsigned long long second = 0;
  unsigned long long of_null = 0;
  unsigned long long of_legacy = 0;
  unsigned long long of_null_per_thread = 0;
  unsigned long long of_per_thread = 0;
  CALL("first", cuStreamGetId, new_stream(run), &first);
  CALL("second", cuStreamGetId, new_stream(run), &second);
  run.show("ids differ", first != second);
  CALL("null", cuStreamGetId, nullptr, &of_null);
  CALL("legacy", cuStreamGetId, CU_STREAM_LEGACY, &of_legacy);
  run.show("null is the legacy stream", of_null == of_legacy);
  CALL("per-thread", cuStreamGetId, CU_STREAM_PER_THREAD, &of_per_thread);
  CALL("null", cuStreamGetId_ptsz, nullptr, &of_null_per_thread);
  run.show("null of _ptsz is the per-thread stream", of_null_per_thread == of_per_thread);
  run.show("legacy and per-thread differ", of_legacy != of_per_thread);
}

void busy(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUstream other = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  hold(run, stream);
  run.show("spin", launch_spin(run, kernels.spin, 50'000'000, stream));
  CALL("busy", cuStreamQuery, stream);
  CALL("idle beside it", cuStreamQuery, other);
  CALL("legacy beside a non-blocking one", cuStreamQuery, nullptr);
  let_go();
  CALL("busy", cuStreamSynchronize, stream);
  CALL("done", cuStreamQuery, stream);
  CUstream blocking = nullptr;
  SETUP(cuStreamCreate, &blocking, CU_STREAM_DEFAULT);
  hold(run, blocking);
  run.show("spin on a blocking stream", launch_spin(run, kernels.spin, 50'000'000, blocking));
  CALL("on the legacy stream", cuMemsetD8Async, address, 1, 4096, nullptr);
  CALL("legacy behind a blocking one", cuStreamQuery, nullptr);
  let_go();
  CALL("legacy", cuStreamSynchronize, nullptr);
  CALL("blocking one is done with it", cuStreamQuery, blocking);
}

std::string g_order;

template <char Letter>
void append(void*) {
  g_order += Letter;
}

void host_functions(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  g_order.clear();
  run.show("spin", launch_spin(run, kernels.spin, 10'000'000, stream));
  CALL("a", cuLaunchHostFunc, stream, append<'a'>, nullptr);
  CALL("b", cuLaunchHostFunc, stream, append<'b'>, nullptr);
  const auto callback = [](CUstream, CUresult result, void* data) {
    *static_cast<CUresult*>(data) = result;
    g_order += 'c';
  };
  CUresult told = CUDA_ERROR_UNKNOWN;
  CALL("c", cuStreamAddCallback, stream, callback, &told, 0);
  CALL("d", cuLaunchHostFunc, stream, append<'d'>, nullptr);
  CALL("", cuStreamSynchronize, stream);
  run.show("order", g_order);
  run.show("callback was told", told);
  CALL("flags 1", cuStreamAddCallback, stream, callback, &told, 1);
  CALL("null function", cuStreamAddCallback, stream, nullptr, nullptr, 0);
  CALL("null function", cuLaunchHostFunc, stream, nullptr, nullptr);
  CALL("null stream", cuLaunchHostFunc, nullptr, append<'e'>, nullptr);
  CALL("legacy stream", cuLaunchHostFunc, CU_STREAM_LEGACY, append<'f'>, nullptr);
  CALL("per-thread stream", cuLaunchHostFunc, CU_STREAM_PER_THREAD, append<'g'>, nullptr);
  CALL("", cuCtxSynchronize);
  run.show("functions that ran", g_order.size());
}

Run* g_run = nullptr;
std::atomic<int> g_results[6];

// Driver calls are forbidden in a host function; the driver says so and lives on.
void calls_driver(void*) {
  const Driver& driver = g_run->driver();
  CUdeviceptr address = 0;
  CUcontext context = nullptr;
  int count = 0;
  g_results[0] = driver.cuMemAlloc_v2(&address, 16);
  g_results[1] = driver.cuCtxSynchronize();
  g_results[2] = driver.cuCtxGetCurrent(&context);
  g_results[3] = driver.cuDeviceGetCount(&count);
  g_results[4] = driver.cuStreamQuery(nullptr);
  g_results[5] = context == nullptr ? 1 : 0;
}

void forbidden_in_host_function(Run& run) {
  g_run = &run;
  CALL("", cuLaunchHostFunc, new_stream(run), calls_driver, nullptr);
  CALL("", cuCtxSynchronize);
  const char* const names[] = {"cuMemAlloc_v2", "cuCtxSynchronize", "cuCtxGetCurrent",
                               "cuDeviceGetCount", "cuStreamQuery"};
  for (int i = 0; i < 5; ++i)
    run.show(cat(names[i], " in a host function"), as_enum<CUresult>(g_results[i].load()));
  run.show("no current context in a host function", g_results[5] == 1);
}

void attributes(Run& run) {
  const CUstream first = new_stream(run);
  const CUstream second = new_stream(run);
  CUstreamAttrValue value{};
  CALL("sync policy", cuStreamGetAttribute, first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
       &value);
  run.show("sync policy", value.syncPolicy);
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  CALL("sync policy", cuStreamSetAttribute, first, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
       &value);
  CALL("", cuStreamCopyAttributes, second, first);
  value = {};
  CALL("copied policy", cuStreamGetAttribute, second, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
       &value);
  run.show("copied policy", value.syncPolicy);
  CALL("cooperative", cuStreamSetAttribute, first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
}

void memory_operations(Run& run) {
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  CALL("", cuStreamWriteValue32_v2, stream, address, 42, 0);
  CALL("value is there", cuStreamWaitValue32_v2, stream, address, 42, CU_STREAM_WAIT_VALUE_EQ);
  CALL("", cuStreamWriteValue64_v2, stream, address + 8, 7, 0);
  CALL("value is there", cuStreamWaitValue64_v2, stream, address + 8, 5, CU_STREAM_WAIT_VALUE_GEQ);
  CALL("", cuStreamSynchronize, stream);
  const auto bytes = read_bytes(run, address, 16);
  run.show("written", cat(bytes[0], " ", bytes[8]));
  CALL("misaligned", cuStreamWriteValue32_v2, stream, address + 2, 42, 0);
  CALL("null", cuStreamWriteValue32_v2, stream, 0, 42, 0);
  CALL("no such address", cuStreamWriteValue32_v2, stream, 4096, 42, 0);
  CALL("flags 77", cuStreamWaitValue32_v2, stream, address, 42, 77);
  CALL("at the end", cuStreamSynchronize, stream);
}

}  // namespace

Section stream_section() {
  return {"stream",
          Start::kContext,
          {
              {"create", create},
              {"destroy", destroy},
              {"kinds", kinds},
              {"null_results", null_results},
              {"ids", ids},
              {"busy", busy},
              {"host_functions", host_functions},
              {"forbidden_in_host_function", forbidden_in_host_function},
              {"attributes", attributes},
              {"memory_operations", memory_operations, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
