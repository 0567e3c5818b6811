// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/graph_kit.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void show_status(Run& run, const char* when, CUstream stream) {
  CUstreamCaptureStatus status = as_enum<CUstreamCaptureStatus>(77);
  CALL(when, cuStreamIsCapturing, stream, &status);
  run.show(cat("status ", when), status);
}

void begin(Run& run, CUstream stream, CUstreamCaptureMode mode) {
  SETUP(cuStreamBeginCapture_v2, stream, mode);
}

void end(Run& run, const char* when, CUstream stream) {
  CUgraph graph = nullptr;
  CALL(when, cuStreamEndCapture, stream, &graph);
  run.show(cat("graph ", when), graph != nullptr);
  show_status(run, cat("after ", when).c_str(), stream);
}

void plain(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  SETUP(cuCtxSynchronize);
  for (const int mode : {0, 1, 2}) {
    CALL(cat("mode ", mode), cuStreamBeginCapture_v2, stream, as_enum<CUstreamCaptureMode>(mode));
    show_status(run, cat("in mode ", mode).c_str(), stream);
    CALL("captured", cuMemsetD8Async, address, 0, 4096, stream);
    run.show("captured fill", launch_fill(run, kernels.fill, address, 3, 16, stream));
    run.show("captured step", launch_fill(run, kernels.step, address, 2, 16, stream));
    CUgraph graph = nullptr;
    CALL(cat("mode ", mode), cuStreamEndCapture, stream, &graph);
    show_shape(run, cat("captured in mode ", mode).c_str(), graph);
    run.show("nothing ran yet", read_float(run, address, 3) == 0.0F);
    CUgraphExec exec = nullptr;
    SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
    CALL("first", cuGraphLaunch, exec, stream);
    CALL("second", cuGraphLaunch, exec, stream);
    run.show("value", static_cast<int>(read_float(run, address, 3)));
    SETUP(cuMemsetD8_v2, address, 0, 4096);
    SETUP(cuCtxSynchronize);
  }
  CALL("mode 3", cuStreamBeginCapture_v2, stream, as_enum<CUstreamCaptureMode>(3));
  CALL("null", cuStreamBeginCapture_v2, nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CALL("legacy", cuStreamBeginCapture_v2, CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUgraph graph = nullptr;
  CALL("not capturing", cuStreamEndCapture, stream, &graph);
}

void nested(Run& run) {
  const CUstream stream = new_stream(run);
  begin(run, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL("nested", cuStreamBeginCapture_v2, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  show_status(run, "after nested begin", stream);
  end(run, "end of nested", stream);
  begin(run, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL("null graph", cuStreamEndCapture, stream, nullptr);
  show_status(run, "after end with null", stream);
  begin(run, new_stream(run), CU_STREAM_CAPTURE_MODE_RELAXED);
  begin(run, CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED);
  end(run, "end of per-thread", CU_STREAM_PER_THREAD);
}

void info(Run& run) {
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  CUstreamCaptureStatus status{};
  cuuint64_t id = 77;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 77;
  CALL("not capturing", cuStreamGetCaptureInfo_v3, stream, &status, &id, &graph, &nodes, &edges,
       &count);
  run.show("status when not capturing", status);
  begin(run, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL("empty", cuStreamGetCaptureInfo_v3, stream, &status, &id, &graph, &nodes, &edges, &count);
  run.show("status, dependencies when empty", cat(status, ", ", count));
  SETUP(cuMemsetD8Async, address, 0, 16, stream);
  CALL("one node", cuStreamGetCaptureInfo_v3, stream, &status, &id, &graph, &nodes, &edges, &count);
  run.show("status, dependencies with one node", cat(status, ", ", count));
  show_shape(run, "the graph being captured", graph);
  CUgraphNode extra = nullptr;
  CALL("into the capture", cuGraphAddEmptyNode, &extra, graph, nodes, count);
  CALL("set", cuStreamUpdateCaptureDependencies_v2, stream, &extra, nullptr, 1,
       CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  SETUP(cuMemsetD8Async, address, 0, 16, stream);
  CUgraph captured = nullptr;
  CALL("", cuStreamEndCapture, stream, &captured);
  run.show("same graph", captured == graph);
  show_shape(run, "captured", captured);
  CALL("only the status", cuStreamGetCaptureInfo_v3, stream, &status, nullptr, nullptr, nullptr,
       nullptr, nullptr);
  CALL("null status", cuStreamGetCaptureInfo_v3, stream, nullptr, nullptr, nullptr, nullptr,
       nullptr, nullptr);
  CALL("second form", cuStreamGetCaptureInfo_v2, stream, &status, &id, &graph, &nodes, &count);
}

// Tries a call inside a fresh capture of one mode: what does it return, and is the capture alive?
struct Trial {
  Run& run;
  CUstreamCaptureMode mode;
  CUdeviceptr address = allocate(run, 4096);
  CUevent event = new_event(run);
  CUstream idle = new_stream(run);
  CUstream doomed = new_stream(run);
  Kernels kernels = load_kernels(run);
  char pageable[16] = {};

  template <class Call>
  void attempt(const char* what, Call&& call) {
    const CUstream stream = new_stream(run);
    begin(run, stream, mode);
    call(stream);
    show_status(run, what, stream);
    CUgraph graph = nullptr;
    CALL(cat("after ", what), cuStreamEndCapture, stream, &graph);
  }
};

void try_waiting(Trial& trial) {
  Run& run = trial.run;
  CUdeviceptr fresh = 0;
  void* pinned = nullptr;
  trial.attempt("stream sync", [&](CUstream s) { CALL("", cuStreamSynchronize, s); });
  trial.attempt("stream query", [&](CUstream s) { CALL("", cuStreamQuery, s); });
  trial.attempt("context sync", [&](CUstream) { CALL("", cuCtxSynchronize); });
  trial.attempt("sync of another stream",
                [&](CUstream) { CALL("idle", cuStreamSynchronize, trial.idle); });
  trial.attempt("alloc", [&](CUstream) { CALL("", cuMemAlloc_v2, &fresh, 4096); });
  trial.attempt("free", [&](CUstream) { CALL("", cuMemFree_v2, fresh); });
  trial.attempt("host alloc", [&](CUstream) { CALL("", cuMemHostAlloc, &pinned, 4096, 0); });
  trial.attempt("legacy memset",
                [&](CUstream) { CALL("legacy", cuMemsetD8Async, trial.address, 1, 16, nullptr); });
  trial.attempt("synchronous memset",
                [&](CUstream) { CALL("", cuMemsetD8_v2, trial.address, 1, 16); });
  trial.attempt("synchronous copy",
                [&](CUstream) { CALL("", cuMemcpyHtoD_v2, trial.address, trial.pageable, 16); });
  trial.attempt("legacy launch", [&](CUstream) {
    run.show("fill on legacy", launch_fill(run, trial.kernels.fill, trial.address, 1, 16, nullptr));
  });
}

void try_others(Trial& trial) {
  Run& run = trial.run;
  CUstream created = nullptr;
  CUmodule module = nullptr;
  trial.attempt("legacy event record",
                [&](CUstream) { CALL("legacy", cuEventRecord, trial.event, nullptr); });
  trial.attempt("event query", [&](CUstream) { CALL("", cuEventQuery, trial.event); });
  trial.attempt("event sync", [&](CUstream) { CALL("", cuEventSynchronize, trial.event); });
  trial.attempt("captured event query", [&](CUstream s) {
    const CUevent captured = new_event(run);
    CALL("captured", cuEventRecord, captured, s);
    CALL("captured", cuEventQuery, captured);
  });
  trial.attempt("stream create", [&](CUstream) { CALL("", cuStreamCreate, &created, 1); });
  trial.attempt("stream create, blocking",
                [&](CUstream) { CALL("blocking", cuStreamCreate, &created, 0); });
  trial.attempt("module load", [&](CUstream) { CALL("", cuModuleLoadData, &module, ptx()); });
  trial.attempt("pageable copy", [&](CUstream s) {
    CALL("pageable", cuMemcpyHtoDAsync_v2, trial.address, trial.pageable, 16, s);
  });
  trial.attempt("callback", [&](CUstream s) {
    CALL(
        "captured", cuStreamAddCallback, s, [](CUstream, CUresult, void*) {}, nullptr, 0);
  });
  trial.attempt("host function", [&](CUstream s) {
    CALL(
        "captured", cuLaunchHostFunc, s, [](void*) {}, nullptr);
  });
  trial.attempt("priority query", [&](CUstream s) {
    int priority = 0;
    CALL("captured", cuStreamGetPriority, s, &priority);
  });
  trial.attempt("stream destroy",
                [&](CUstream) { CALL("idle", cuStreamDestroy_v2, trial.doomed); });
}

void forbidden(Run& run, CUstreamCaptureMode mode) {
  Trial trial{run, mode};
  try_waiting(trial);
  try_others(trial);
}

void fork_join(Run& run) {
  const CUstream first = new_stream(run);
  const CUstream second = new_stream(run);
  const CUevent fork = new_event(run);
  const CUevent join = new_event(run);
  const CUdeviceptr address = allocate(run, 4096);
  begin(run, first, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CALL("fork", cuEventRecord, fork, first);
  CALL("fork", cuStreamWaitEvent, second, fork, 0);
  show_status(run, "of the forked stream", second);
  CALL("in the fork", cuMemsetD8Async, address, 1, 16, second);
  CALL("join", cuEventRecord, join, second);
  CALL("join", cuStreamWaitEvent, first, join, 0);
  CUgraph graph = nullptr;
  CALL("joined", cuStreamEndCapture, first, &graph);
  if (graph != nullptr) show_shape(run, "fork and join", graph);
  show_status(run, "of the forked stream at the end", second);
}

void wrong_end(Run& run) {
  const CUstream first = new_stream(run);
  const CUstream second = new_stream(run);
  const CUevent fork = new_event(run);
  begin(run, first, CU_STREAM_CAPTURE_MODE_GLOBAL);
  SETUP(cuEventRecord, fork, first);
  SETUP(cuStreamWaitEvent, second, fork, 0);
  end(run, "end at the forked stream", second);
  CALL("after a wrong end", cuEventRecord, fork, second);
  end(run, "end at the origin", first);
}

void unjoined(Run& run) {
  const CUstream first = new_stream(run);
  const CUstream second = new_stream(run);
  const CUevent fork = new_event(run);
  const CUdeviceptr address = allocate(run, 4096);
  begin(run, first, CU_STREAM_CAPTURE_MODE_GLOBAL);
  SETUP(cuEventRecord, fork, first);
  SETUP(cuStreamWaitEvent, second, fork, 0);
  SETUP(cuMemsetD8Async, address, 1, 16, second);
  end(run, "end unjoined", first);
  show_status(run, "of the forked stream", second);
  CALL("after the capture", cuStreamSynchronize, second);
  CALL("captured event, capture over", cuEventQuery, fork);
  const CUstream outside = new_stream(run);
  const CUstream one = new_stream(run);
  const CUevent before = new_event(run);
  SETUP(cuEventRecord, before, outside);
  begin(run, one, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CALL("event from outside the capture", cuStreamWaitEvent, one, before, 0);
  show_status(run, "after an outside event", one);
  end(run, "end after an outside event", one);
}

void merge(Run& run) {
  const CUstream first = new_stream(run);
  const CUstream second = new_stream(run);
  const CUevent event = new_event(run);
  begin(run, first, CU_STREAM_CAPTURE_MODE_RELAXED);
  begin(run, second, CU_STREAM_CAPTURE_MODE_RELAXED);
  SETUP(cuEventRecord, event, first);
  CALL("of another capture", cuStreamWaitEvent, second, event, 0);
  show_status(run, "of the first", first);
  show_status(run, "of the second", second);
  end(run, "end of the first", first);
  end(run, "end of the second", second);
}

void destroy_capturing(Run& run) {
  const CUstream stream = new_stream(run);
  begin(run, stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL("capturing", cuStreamDestroy_v2, stream);
  CALL("after that", cuCtxSynchronize);
}

void into_graph(Run& run) {
  const CUstream stream = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  CUgraph graph = new_graph(run);
  const CUgraphNode node = empty_node(run, graph);
  CALL("after a node", cuStreamBeginCaptureToGraph, stream, graph, &node, nullptr, 1,
       CU_STREAM_CAPTURE_MODE_RELAXED);
  CALL("", cuMemsetD8Async, address, 1, 16, stream);
  CUgraph got = nullptr;
  CALL("", cuStreamEndCapture, stream, &got);
  run.show("same graph", got == graph);
  show_shape(run, "captured into a graph", graph);
}

}  // namespace

Section capture_section() {
  return {
      "capture",
      Start::kContext,
      {
          {"plain", plain, Process::kOwn},
          {"info", info},
          {"fork_join", fork_join},
          {"wrong_end", wrong_end},
          {"unjoined", unjoined},
          {"merge", merge},
          {"into_graph", into_graph},
          {"global", [](Run& run) { forbidden(run, CU_STREAM_CAPTURE_MODE_GLOBAL); },
           Process::kOwn},
          {"thread_local", [](Run& run) { forbidden(run, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL); },
           Process::kOwn},
          {"relaxed", [](Run& run) { forbidden(run, CU_STREAM_CAPTURE_MODE_RELAXED); },
           Process::kOwn},
          {"nested", nested, Process::kOwn},
          {"destroy_capturing", destroy_capturing, Process::kOwn},
      }};
}

}  // namespace nvs::conformance
