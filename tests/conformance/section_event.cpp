// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void create(Run& run) {
  CUevent event = nullptr;
  for (const unsigned flags : {0U, 1U, 2U, 3U, 4U, 6U, 8U, 0x10U}) {
    if (CALL(cat("flags ", flags), cuEventCreate, &event, flags) == CUDA_SUCCESS)
      CALL(cat("created with ", flags), cuEventDestroy_v2, event);
  }
  CALL("null", cuEventCreate, nullptr, 0);
  CALL("null", cuEventDestroy_v2, nullptr);
  CALL("null", cuEventQuery, nullptr);
  CALL("null", cuEventSynchronize, nullptr);
  CALL("null", cuEventRecord, nullptr, nullptr);
}

void unrecorded(Run& run) {
  const CUevent first = new_event(run);
  const CUevent second = new_event(run);
  float elapsed = -7;
  CALL("unrecorded", cuEventQuery, first);
  CALL("unrecorded", cuEventSynchronize, first);
  CALL("unrecorded", cuStreamWaitEvent, nullptr, first, 0);
  CALL("both unrecorded", cuEventElapsedTime_v2, &elapsed, first, second);
  CALL("both unrecorded", cuEventElapsedTime, &elapsed, first, second);
  SETUP(cuEventRecord, first, nullptr);
  CALL("end unrecorded", cuEventElapsedTime_v2, &elapsed, first, second);
  CALL("start unrecorded", cuEventElapsedTime_v2, &elapsed, second, first);
  CALL("null start", cuEventElapsedTime_v2, &elapsed, nullptr, first);
  CALL("null end", cuEventElapsedTime_v2, &elapsed, first, nullptr);
}

void elapsed(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUevent first = new_event(run);
  const CUevent second = new_event(run);
  float milliseconds = -7;
  // What a process does when it first launches something takes a while, on a busy machine a long
  // one.
  launch_spin(run, kernels.spin, 1000, stream);
  SETUP(cuStreamSynchronize, stream);
  hold(run, stream);
  CALL("first", cuEventRecord, first, stream);
  run.show("spin", launch_spin(run, kernels.spin, 30'000'000, stream));
  CALL("second", cuEventRecord, second, stream);
  CALL("pending", cuEventQuery, second);
  CALL("pending", cuEventElapsedTime_v2, &milliseconds, first, second);
  let_go();
  CALL("second", cuEventSynchronize, second);
  CALL("done", cuEventQuery, second);
  CALL("done", cuEventElapsedTime_v2, &milliseconds, first, second);
  run.show("30 to 300 ms", milliseconds >= 29.9F && milliseconds < 300.0F);
  CALL("backwards", cuEventElapsedTime_v2, &milliseconds, second, first);
  run.show("negative", milliseconds < 0);
  CALL("with itself", cuEventElapsedTime_v2, &milliseconds, first, first);
  run.show("zero", milliseconds == 0);
  CALL("null result", cuEventElapsedTime_v2, nullptr, first, second);
  CALL("old form", cuEventElapsedTime, &milliseconds, first, second);
  run.show("old form tells the same", milliseconds >= 29.9F && milliseconds < 300.0F);
}

void without_timing(Run& run) {
  CUevent quiet = nullptr;
  SETUP(cuEventCreate, &quiet, CU_EVENT_DISABLE_TIMING);
  const CUevent timed = new_event(run);
  CALL("without timing", cuEventRecord, quiet, nullptr);
  CALL("timed", cuEventRecord, timed, nullptr);
  CALL("", cuCtxSynchronize);
  float milliseconds = 0;
  CALL("start without timing", cuEventElapsedTime_v2, &milliseconds, quiet, timed);
  CALL("end without timing", cuEventElapsedTime_v2, &milliseconds, timed, quiet);
  CALL("without timing", cuEventQuery, quiet);
}

void record_again(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUstream waiting = new_stream(run);
  const CUevent event = new_event(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  SETUP(cuCtxSynchronize);
  hold(run, stream);
  run.show("spin", launch_spin(run, kernels.spin, 30'000'000, stream));
  CALL("behind a spin", cuEventRecord, event, stream);
  CALL("", cuStreamWaitEvent, waiting, event, 0);
  run.show("fill", launch_fill(run, kernels.fill, address, 1, 16, waiting));
  CALL("waits", cuStreamQuery, waiting);
  CALL("again, on an idle stream", cuEventRecord, event, nullptr);
  CALL("again", cuEventSynchronize, event);
  CALL("still waits for the first record", cuStreamQuery, waiting);
  let_go();
  CALL("", cuStreamSynchronize, waiting);
  CALL("the spin is over", cuStreamQuery, stream);
  CALL("flags 1", cuStreamWaitEvent, waiting, event, 1);
  CALL("flags 77", cuStreamWaitEvent, waiting, event, 77);
  CALL("null event", cuStreamWaitEvent, waiting, nullptr, 0);
  CALL("null stream", cuStreamWaitEvent, nullptr, event, 0);
  CALL("per-thread stream", cuStreamWaitEvent, CU_STREAM_PER_THREAD, event, 0);
}

void record_flags(Run& run) {
  const CUevent event = new_event(run);
  const CUstream stream = new_stream(run);
  for (const unsigned flags : {0U, 1U, 2U, 77U})
    CALL(cat("flags ", flags), cuEventRecordWithFlags, event, stream, flags);
  CALL("null event", cuEventRecordWithFlags, nullptr, stream, 0);
  CALL("legacy stream", cuEventRecord, event, CU_STREAM_LEGACY);
  CALL("per-thread stream", cuEventRecord, event, CU_STREAM_PER_THREAD);
  CALL("null stream", cuEventRecord_ptsz, event, nullptr);
  CALL("at the end", cuCtxSynchronize);
}

void destroy_pending(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUstream waiting = new_stream(run);
  const CUevent event = new_event(run);
  hold(run, stream);
  run.show("spin", launch_spin(run, kernels.spin, 20'000'000, stream));
  SETUP(cuEventRecord, event, stream);
  SETUP(cuStreamWaitEvent, waiting, event, 0);
  CALL("pending", cuEventDestroy_v2, event);
  CALL("waits for a destroyed event", cuStreamQuery, waiting);
  let_go();
  CALL("waits for a destroyed event", cuStreamSynchronize, waiting);
  CALL("the spin is over", cuStreamQuery, stream);
}

void contexts(Run& run) {
  const CUcontext here = current_context(run);
  const CUstream stream_here = new_stream(run);
  const CUevent event_here = new_event(run);
  const CUcontext there = new_context(run);
  const CUstream stream_there = new_stream(run);
  const CUevent event_there = new_event(run);
  CALL("event of one context, stream of another", cuEventRecord, event_here, stream_there);
  CALL("event and stream of another context", cuEventRecord, event_here, stream_here);
  CALL("null stream, event of another context", cuEventRecord, event_here, nullptr);
  CALL("own", cuEventRecord, event_there, stream_there);
  CALL("across contexts", cuStreamWaitEvent, stream_here, event_there, 0);
  CALL("of another context", cuEventSynchronize, event_here);
  CALL("of another context", cuEventQuery, event_here);
  float milliseconds = 0;
  SETUP(cuStreamSynchronize, stream_there);
  CALL("across contexts", cuEventElapsedTime_v2, &milliseconds, event_here, event_there);
  CALL("of another context", cuEventDestroy_v2, event_here);
  CALL("of another context", cuStreamDestroy_v2, stream_here);
  SETUP(cuCtxDestroy_v2, there);
  SETUP(cuCtxSetCurrent, here);
}

void whole_context(Run& run) {
  const CUcontext context = current_context(run);
  const CUevent event = new_event(run);
  CALL("", cuCtxRecordEvent, context, event);
  CALL("", cuCtxWaitEvent, context, event);
  CALL("null event", cuCtxRecordEvent, context, nullptr);
  CALL("null context", cuCtxRecordEvent, nullptr, event);
  CALL("recorded", cuEventSynchronize, event);
}

}  // namespace

Section event_section() {
  return {"event",
          Start::kContext,
          {
              {"create", create},
              {"unrecorded", unrecorded},
              {"elapsed", elapsed},
              {"without_timing", without_timing},
              {"record_again", record_again},
              {"record_flags", record_flags},
              {"destroy_pending", destroy_pending},
              {"contexts", contexts},
              {"whole_context", whole_context, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
