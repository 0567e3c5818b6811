// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <thread>

#include "tests/conformance/graph_kit.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr auto kThreadLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

void show_status(Run& run, const std::string& when, CUstream stream) {
  CUstreamCaptureStatus status = as_enum<CUstreamCaptureStatus>(77);
  CALL(when, cuStreamIsCapturing, stream, &status);
  run.show(cat("status ", when), status);
}

CUgraph end(Run& run, const std::string& when, CUstream stream) {
  CUgraph graph = nullptr;
  CALL(when, cuStreamEndCapture, stream, &graph);
  return graph;
}

// A blocking stream stands in an order with the legacy stream, which then cannot be used during its
// capture.
void implicit(Run& run, CUstreamCaptureMode mode) {
  const CUdeviceptr address = allocate(run, 4096);
  const CUevent event = new_event(run);
  const Kernels kernels = load_kernels(run);
  char pageable[16] = {};
  const auto attempt = [&](const char* what, const std::function<void()>& call) {
    CUstream stream = nullptr;
    SETUP(cuStreamCreate, &stream, CU_STREAM_DEFAULT);
    SETUP(cuStreamBeginCapture_v2, stream, mode);
    call();
    show_status(run, what, stream);
    end(run, cat("after ", what), stream);
  };
  attempt("memset", [&] { CALL("legacy", cuMemsetD8Async, address, 1, 16, nullptr); });
  attempt("named legacy",
          [&] { CALL("named", cuMemsetD8Async, address, 1, 16, CU_STREAM_LEGACY); });
  attempt("per-thread",
          [&] { CALL("per-thread", cuMemsetD8Async, address, 1, 16, CU_STREAM_PER_THREAD); });
  attempt("synchronous memset", [&] { CALL("", cuMemsetD8_v2, address, 1, 16); });
  attempt("synchronous copy", [&] { CALL("", cuMemcpyHtoD_v2, address, pageable, 16); });
  attempt("launch", [&] {
    run.show("fill on legacy", launch_fill(run, kernels.fill, address, 1, 16, nullptr));
  });
  attempt("event record", [&] { CALL("legacy", cuEventRecord, event, nullptr); });
  attempt("stream wait", [&] { CALL("legacy", cuStreamWaitEvent, nullptr, event, 0); });
  attempt("query", [&] { CALL("legacy", cuStreamQuery, nullptr); });
  attempt("sync", [&] { CALL("legacy", cuStreamSynchronize, nullptr); });
  attempt("status of legacy", [&] {
    CUstreamCaptureStatus status{};
    CALL("legacy", cuStreamIsCapturing, nullptr, &status);
  });
}

// What another thread does while this one captures.
void other_thread(Run& run, CUstreamCaptureMode mode) {
  const CUcontext context = current_context(run);
  const CUdeviceptr address = allocate(run, 4096);
  const CUstream idle = new_stream(run);
  const auto attempt = [&](const char* what, const std::function<void(CUstream)>& call) {
    const CUstream stream = new_stream(run);
    SETUP(cuStreamBeginCapture_v2, stream, mode);
    std::thread([&] {
      run.driver().cuCtxSetCurrent(context);
      call(stream);
    }).join();
    show_status(run, what, stream);
    end(run, cat("after ", what), stream);
  };
  attempt("sync of another stream", [&](CUstream) { CALL("idle", cuStreamSynchronize, idle); });
  attempt("sync of the context", [&](CUstream) { CALL("", cuCtxSynchronize); });
  attempt("alloc", [&](CUstream) {
    CUdeviceptr fresh = 0;
    CALL("", cuMemAlloc_v2, &fresh, 4096);
  });
  attempt("relaxed alloc", [&](CUstream) {
    auto relaxed = kRelaxed;
    CUdeviceptr fresh = 0;
    CALL("to relaxed", cuThreadExchangeStreamCaptureMode, &relaxed);
    CALL("relaxed", cuMemAlloc_v2, &fresh, 4096);
    CALL("relaxed", cuStreamSynchronize, idle);
    CALL("relaxed", cuCtxSynchronize);
  });
  attempt("memset on the capturing stream",
          [&](CUstream s) { CALL("captured", cuMemsetD8Async, address, 1, 16, s); });
  attempt("end", [&](CUstream s) { end(run, "in another thread", s); });
}

void external_events(Run& run) {
  const CUstream stream = new_stream(run);
  const CUevent event = new_event(run);
  SETUP(cuStreamBeginCapture_v2, stream, kRelaxed);
  CALL("external", cuEventRecordWithFlags, event, stream, CU_EVENT_RECORD_EXTERNAL);
  CALL("external", cuStreamWaitEvent, stream, event, CU_EVENT_WAIT_EXTERNAL);
  CALL("recorded externally", cuEventQuery, event);
  const CUgraph graph = end(run, "external", stream);
  show_shape(run, "external events", graph);
}

// A graph that is launched into a capture becomes a node of it.
void graph_in_capture(Run& run) {
  const CUdeviceptr address = allocate(run, 4096);
  CUDA_MEMSET_NODE_PARAMS params = memset_params(address, 3, 4096);
  CUgraph inner = new_graph(run);
  CUgraphNode node = nullptr;
  SETUP(cuGraphAddMemsetNode, &node, inner, nullptr, 0, &params, current_context(run));
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, inner, 0);
  const CUstream stream = new_stream(run);
  SETUP(cuStreamBeginCapture_v2, stream, kRelaxed);
  CALL("captured", cuGraphLaunch, exec, stream);
  const CUgraph graph = end(run, "with a graph in it", stream);
  show_shape(run, "a capture of a launch", graph);
  CUgraphNode first = nullptr;
  std::size_t count = 1;
  CALL("", cuGraphGetNodes, graph, &first, &count);
  CUgraphNodeType type{};
  CALL("", cuGraphNodeGetType, first, &type);
  run.show("type", type);
}

void relaunch(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUstream stream = new_stream(run);
  const CUstream other = new_stream(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  SETUP(cuCtxSynchronize);
  SETUP(cuStreamBeginCapture_v2, stream, kRelaxed);
  run.show("spin", launch_spin(run, kernels.spin, 10'000'000, stream));
  run.show("step", launch_fill(run, kernels.step, address, 1, 16, stream));
  CUgraph graph = end(run, "", stream);
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  hold(run, stream);
  CALL("first", cuGraphLaunch, exec, stream);
  CALL("second, the first in flight", cuGraphLaunch, exec, other);
  CALL("both in flight", cuStreamQuery, other);
  let_go();
  CALL("in flight", cuGraphExecDestroy, exec);
  CALL("", cuGraphDestroy, graph);
  CALL("", cuStreamSynchronize, other);
  CALL("the first is done before the second", cuStreamQuery, stream);
  run.show("both have run", static_cast<int>(read_float(run, address, 3)));
}

void copies(Run& run) {
  const CUstream stream = new_stream(run);
  const CUdeviceptr first = allocate(run, 4096);
  const CUdeviceptr second = allocate(run, 4096);
  void* pinned = nullptr;
  SETUP(cuMemHostAlloc, &pinned, 4096, 0);
  auto* bytes = static_cast<unsigned char*>(pinned);
  bytes[100] = 7;
  SETUP(cuStreamBeginCapture_v2, stream, kGlobal);
  CALL("captured", cuMemcpyHtoDAsync_v2, first, pinned, 2048, stream);
  CALL("captured", cuMemcpyDtoDAsync_v2, second, first, 2048, stream);
  CALL("captured", cuMemcpyDtoHAsync_v2, bytes + 2048, second, 2048, stream);
  CALL("captured, 0 bytes", cuMemcpyDtoDAsync_v2, second, first, 0, stream);
  CALL("captured, past the end", cuMemcpyDtoDAsync_v2, second, first, 64 * kMiB, stream);
  const CUgraph graph = end(run, "of copies", stream);
  if (graph == nullptr) return;
  show_shape(run, "captured copies", graph);
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL("", cuGraphLaunch, exec, stream);
  CALL("", cuStreamSynchronize, stream);
  run.show("copied round", static_cast<int>(bytes[2048 + 100]));
}

}  // namespace

Section capture_more_section() {
  return {"capture_more",
          Start::kContext,
          {
              {"external_events", external_events},
              {"graph_in_capture", graph_in_capture},
              {"relaunch", relaunch},
              {"copies", copies},
              {"implicit_global", [](Run& run) { implicit(run, kGlobal); }, Process::kOwn},
              {"implicit_relaxed", [](Run& run) { implicit(run, kRelaxed); }, Process::kOwn},
              {"thread_global", [](Run& run) { other_thread(run, kGlobal); }, Process::kOwn},
              {"thread_local", [](Run& run) { other_thread(run, kThreadLocal); }, Process::kOwn},
              {"thread_relaxed", [](Run& run) { other_thread(run, kRelaxed); }, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
