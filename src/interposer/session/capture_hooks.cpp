// SPDX-License-Identifier: Apache-2.0
// Hooks: captures begin and end, and streams go.
#include <cstdint>

#include "interposer/exports/default_streams.h"
#include "interposer/exports/own_hooks.h"
#include "interposer/exports/real.h"
#include "interposer/flow/flow.h"
#include "interposer/gate/slots.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/memory/swap/ordered_streams.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/captures.h"
#include "interposer/session/memory.h"

namespace nvs::interposer {
namespace {

enum class Into : std::uint8_t { new_graph, given_graph };

CUcontext context_of(CUstream stream) {
  CUcontext context = nullptr;
  const auto of_stream = real<Row::cuStreamGetCtx>();
  const auto current = real<Row::cuCtxGetCurrent>();
  if (!is_default_stream(stream) && of_stream != nullptr) {
    if (of_stream(stream, &context) == CUDA_SUCCESS) return context;
  }
  return current != nullptr && current(&context) == CUDA_SUCCESS ? context : nullptr;
}

// Which graph it makes is asked at once: later another thread may destroy the stream at any moment,
// and the driver must not get a handle of what is gone.
template <class Call>
CUresult begin_through(CUstream stream, Call call, Into into = Into::new_graph) {
  const CUcontext context = context_of(stream);
  captures::begins();
  const CUresult result = call();
  const bool makes_one = result == CUDA_SUCCESS && into == Into::new_graph;
  captures::begun(stream, context, result,
                  makes_one ? memory::graphs::captured_by(stream) : nullptr);
  return result;
}

// A capture can end with an error, and an end can fail with the capture going on.
template <class Call>
CUresult end_through(CUstream stream, CUgraph* graph, Call call) {
  const CUresult result = call();
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  const auto ask = real<Row::cuStreamIsCapturing>();
  const bool goes_on = result != CUDA_SUCCESS && ask != nullptr &&
                       ask(stream, &status) == CUDA_SUCCESS &&
                       status != CU_STREAM_CAPTURE_STATUS_NONE;
  if (goes_on) return result;
  // Asked of nothing that another thread may destroy by now.
  CUcontext current = nullptr;
  if (is_default_stream(stream)) current = context_of(stream);
  const captures::Number number = captures::ended(stream, current);
  if (memory::graphs::is_any()) {
    const bool is_made = result == CUDA_SUCCESS && graph != nullptr;
    memory::graphs::capture_ended(number, is_made ? *graph : nullptr);
  }
  if (session::has_any_daemon()) swap::all_changed();  // memory that could not leave may now
  return result;
}

template <class Call>
CUresult destroy_through(CUstream stream, Call call) {
  const captures::Number number = captures::destroyed(stream);
  swap::stream_ends(stream);
  {
    const libc::NoCancel no_cancel;
    if (!is_default_stream(stream)) gate::wait_until_unused(stream);
    flow::stream_ends(stream);
  }
  const CUresult result = call();
  const bool is_gone = result == CUDA_SUCCESS && memory::graphs::is_any();
  if (is_gone) memory::graphs::capture_ended(number, nullptr);
  return result;
}

}  // namespace
}  // namespace nvs::interposer

namespace nvs::hooks {

using interposer::begin_through;
using interposer::destroy_through;
using interposer::end_through;
using interposer::or_per_thread;
using interposer::real;
using interposer::Row;
constexpr auto kGivenGraph = interposer::Into::given_graph;

CUresult cuStreamBeginCapture(CUstream hStream) {
  return begin_through(hStream, [&] { return real<Row::cuStreamBeginCapture>()(hStream); });
}
CUresult cuStreamBeginCapture_ptsz(CUstream hStream) {
  return begin_through(or_per_thread(hStream),
                       [&] { return real<Row::cuStreamBeginCapture_ptsz>()(hStream); });
}
CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  return begin_through(hStream,
                       [&] { return real<Row::cuStreamBeginCapture_v2>()(hStream, mode); });
}
CUresult cuStreamBeginCapture_v2_ptsz(CUstream hStream, CUstreamCaptureMode mode) {
  return begin_through(or_per_thread(hStream),
                       [&] { return real<Row::cuStreamBeginCapture_v2_ptsz>()(hStream, mode); });
}
CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
                                     const CUgraphNode* dependencies,
                                     const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                     CUstreamCaptureMode mode) {
  return begin_through(
      hStream,
      [&] {
        return real<Row::cuStreamBeginCaptureToGraph>()(hStream, hGraph, dependencies,
                                                        dependencyData, numDependencies, mode);
      },
      kGivenGraph);
}
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream hStream, CUgraph hGraph,
                                          const CUgraphNode* dependencies,
                                          const CUgraphEdgeData* dependencyData,
                                          size_t numDependencies, CUstreamCaptureMode mode) {
  return begin_through(
      or_per_thread(hStream),
      [&] {
        return real<Row::cuStreamBeginCaptureToGraph_ptsz>()(hStream, hGraph, dependencies,
                                                             dependencyData, numDependencies, mode);
      },
      kGivenGraph);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  return end_through(hStream, phGraph,
                     [&] { return real<Row::cuStreamEndCapture>()(hStream, phGraph); });
}
CUresult cuStreamEndCapture_ptsz(CUstream hStream, CUgraph* phGraph) {
  return end_through(or_per_thread(hStream), phGraph,
                     [&] { return real<Row::cuStreamEndCapture_ptsz>()(hStream, phGraph); });
}

CUresult cuStreamDestroy(CUstream hStream) {
  return destroy_through(hStream, [&] { return real<Row::cuStreamDestroy>()(hStream); });
}
CUresult cuStreamDestroy_v2(CUstream hStream) {
  return destroy_through(hStream, [&] { return real<Row::cuStreamDestroy_v2>()(hStream); });
}

}  // namespace nvs::hooks
