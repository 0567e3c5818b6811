// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <thread>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void in_thread(const std::function<void()>& work) {
  bool stopped = false;
  std::thread([&] {
    try {
      work();
    } catch (const StepStopped&) {
      stopped = true;
    }
  }).join();
  if (stopped) throw StepStopped{};
}

void current(Run& run) {
  const CUcontext context = current_context(run);
  in_thread([&] {
    CUcontext got = context;
    CALL("new thread", cuCtxGetCurrent, &got);
    run.show("new thread has none", got == nullptr);
    CUdeviceptr address = 0;
    CALL("new thread", cuMemAlloc_v2, &address, 16);
    CALL("new thread", cuCtxSetCurrent, context);
    CALL("new thread, context set", cuMemAlloc_v2, &address, 16);
    CALL("new thread, context set", cuMemFree_v2, address);
    CALL("new thread", cuCtxPopCurrent_v2, &got);
    run.show("popped it", got == context);
  });
  CUcontext got = nullptr;
  CALL("first thread", cuCtxGetCurrent, &got);
  run.show("first thread keeps its own", got == context);
}

void same_objects(Run& run) {
  const CUcontext context = current_context(run);
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  in_thread([&] {
    SETUP(cuCtxSetCurrent, context);
    run.show("fill from another thread", launch_fill(run, kernels.fill, address, 6, 16, stream));
    CALL("from another thread", cuStreamSynchronize, stream);
  });
  run.show("filled", read_float(run, address, 5) == 6.0F);
}

void destroyed_elsewhere(Run& run) {
  const CUcontext context = new_context(run);
  in_thread([&] { CALL("from another thread", cuCtxDestroy_v2, context); });
  CUcontext got = nullptr;
  CALL("destroyed by another thread", cuCtxGetCurrent, &got);
  run.show("still the destroyed one", got == context);
  CUdeviceptr address = 0;
  CALL("destroyed by another thread", cuMemAlloc_v2, &address, 16);
  CALL("destroyed by another thread", cuCtxSynchronize);
  CUdevice device = -7;
  CALL("destroyed by another thread", cuCtxGetDevice, &device);
  CALL("destroyed by another thread", cuCtxPopCurrent_v2, &got);
}

void default_streams(Run& run) {
  const CUcontext context = current_context(run);
  unsigned long long here = 0;
  unsigned long long there = 0;
  unsigned long long legacy_here = 0;
  unsigned long long legacy_there = 1;
  SETUP(cuStreamGetId, CU_STREAM_PER_THREAD, &here);
  SETUP(cuStreamGetId, CU_STREAM_LEGACY, &legacy_here);
  in_thread([&] {
    SETUP(cuCtxSetCurrent, context);
    CALL("per-thread, in another thread", cuStreamGetId, CU_STREAM_PER_THREAD, &there);
    CALL("legacy, in another thread", cuStreamGetId, CU_STREAM_LEGACY, &legacy_there);
  });
  run.show("per-thread streams differ", here != there);
  run.show("the legacy stream is one", legacy_here == legacy_there);
}

// Work on one thread's default stream does not hold up another's.
void independent(Run& run) {
  const CUcontext context = current_context(run);
  const Kernels kernels = load_kernels(run);
  SETUP(cuCtxSynchronize);
  in_thread([&] {
    SETUP(cuCtxSetCurrent, context);
    hold(run, CU_STREAM_PER_THREAD);
    run.show("spin in another thread",
             launch_spin(run, kernels.spin, 50'000'000, CU_STREAM_PER_THREAD));
    CALL("busy in its thread", cuStreamQuery, CU_STREAM_PER_THREAD);
    let_go();
  });
  CALL("idle in the first thread", cuStreamQuery, CU_STREAM_PER_THREAD);
  CALL("null of _ptsz is idle too", cuStreamQuery_ptsz, nullptr);
  const CUdeviceptr address = allocate(run, 4096);
  CALL("per-thread copy is free to go", cuMemsetD8Async_ptsz, address, 1, 16, nullptr);
  CALL("first thread", cuStreamSynchronize_ptsz, nullptr);
  CALL("", cuCtxSynchronize);
}

void capture_mode(Run& run) {
  auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CALL("to relaxed", cuThreadExchangeStreamCaptureMode, &mode);
  run.show("mode at first", mode);
  in_thread([&] {
    auto other = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CALL("in another thread", cuThreadExchangeStreamCaptureMode, &other);
    run.show("mode of another thread at first", other);
  });
  CALL("back", cuThreadExchangeStreamCaptureMode, &mode);
  run.show("mode before", mode);
  mode = as_enum<CUstreamCaptureMode>(7);
  CALL("mode 7", cuThreadExchangeStreamCaptureMode, &mode);
}

}  // namespace

Section thread_section() {
  return {"thread",
          Start::kContext,
          {
              {"current", current},
              {"same_objects", same_objects},
              {"default_streams", default_streams},
              {"independent", independent},
              {"capture_mode", capture_mode},
              {"destroyed_elsewhere", destroyed_elsewhere, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
