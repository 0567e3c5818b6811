// SPDX-License-Identifier: Apache-2.0
// Hooks: events are recorded, measured and destroyed, and given to graphs that record them. None of
// these waits at the gate: a mark in a stream is no work.
#include "interposer/events/event_times.h"
#include "interposer/exports/own_hooks.h"
#include "interposer/exports/real.h"
#include "interposer/gate/call_target.h"
#include "interposer/gate/gated_call.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/session/captures.h"
#include "interposer/session/session.h"

namespace nvs::interposer::events {
namespace {

// Most programs use one GPU and capture nothing: then there is nothing to ask the driver.
gate::Target target_of(CUstream stream) {
  const int gpu = session::only_gpu();
  if (gpu >= 0 && !captures::is_any()) return {false, gpu};
  return gate::target_of({0, stream, true, false, 0});
}

template <Row row, class... Flags>
[[gnu::noinline, gnu::cold]] CUresult record_by_clock(CUevent event, CUstream stream,
                                                      Flags... flags) {
  const gate::Target target = target_of(CallStream<row>::or_default(stream));
  const std::int64_t before_ns = target.gpu >= 0 ? times().waited_ns(target.gpu) : 0;
  const CUresult result = real<row>()(event, stream, flags...);
  if (result != CUDA_SUCCESS) return result;
  if (target.captured) {
    // Only an external record becomes a node. After any other, the event has no time.
    if (((flags & CU_EVENT_RECORD_EXTERNAL) | ... | 0U) != 0) times().given_to_graph(event);
  } else if (target.gpu >= 0) {
    times().recorded(event, target.gpu, before_ns);
  } else {
    times().recorded_somewhere(event);
  }
  return result;
}

template <Row row>
CUresult record(CUevent event, CUstream stream) {
  if (times().has_waited()) [[unlikely]]
    return record_by_clock<row>(event, stream);
  return real<row>()(event, stream);
}

template <Row row>
CUresult record(CUevent event, CUstream stream, unsigned int flags) {
  if (times().has_waited() || flags != CU_EVENT_RECORD_DEFAULT) [[unlikely]]
    return record_by_clock<row>(event, stream, flags);
  return real<row>()(event, stream, flags);
}

CUresult recorded_of_context(CUresult result, CUevent event) {
  if (result == CUDA_SUCCESS && times().has_waited()) times().recorded_somewhere(event);
  return result;
}

CUresult measured(CUresult result, float* milliseconds, CUevent start, CUevent end) {
  if (result != CUDA_SUCCESS || milliseconds == nullptr || !times().has_waited()) return result;
  *milliseconds = times().without_waits(*milliseconds, start, end);
  return result;
}

CUresult given(CUresult result, CUevent event) {
  if (result == CUDA_SUCCESS) times().given_to_graph(event);
  return result;
}

CUresult given(CUresult result, const CUgraphNodeParams* node) {
  if (result != CUDA_SUCCESS || node == nullptr) return result;
  if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
    times().given_to_graph(node->eventRecord.event);
  return result;
}

// The driver looks whether the memory of a copy or a fill is there, and at no other memory.
bool names_memory(const CUgraphNodeParams* node) {
  return node != nullptr &&
         (node->type == CU_GRAPH_NODE_TYPE_MEMCPY || node->type == CU_GRAPH_NODE_TYPE_MEMSET);
}

template <Row row, class... Arguments>
CUresult call_with(CUgraphNodeParams* node, Arguments... arguments) {
  const CUresult result = names_memory(node) ? GatedCall<row>::call(arguments..., node)
                                             : real<row>()(arguments..., node);
  return given(result, node);
}

template <Row row, class... Arguments>
CUresult add_with(CUgraph graph, CUgraphNodeParams* node, Arguments... arguments) {
  return memory::graphs::add_any(graph, node, [&] { return call_with<row>(node, arguments...); });
}

}  // namespace
}  // namespace nvs::interposer::events

namespace nvs::hooks {

using namespace interposer::events;
using interposer::real;
using interposer::Row;

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  return record<Row::cuEventRecord>(hEvent, hStream);
}
CUresult cuEventRecord_ptsz(CUevent hEvent, CUstream hStream) {
  return record<Row::cuEventRecord_ptsz>(hEvent, hStream);
}
CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  return record<Row::cuEventRecordWithFlags>(hEvent, hStream, flags);
}
CUresult cuEventRecordWithFlags_ptsz(CUevent hEvent, CUstream hStream, unsigned int flags) {
  return record<Row::cuEventRecordWithFlags_ptsz>(hEvent, hStream, flags);
}

// These record what a whole context does.
CUresult cuCtxRecordEvent(CUcontext hCtx, CUevent hEvent) {
  return recorded_of_context(real<Row::cuCtxRecordEvent>()(hCtx, hEvent), hEvent);
}
CUresult cuGreenCtxRecordEvent(CUgreenCtx hCtx, CUevent hEvent) {
  return recorded_of_context(real<Row::cuGreenCtxRecordEvent>()(hCtx, hEvent), hEvent);
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return measured(real<Row::cuEventElapsedTime>()(pMilliseconds, hStart, hEnd), pMilliseconds,
                  hStart, hEnd);
}
CUresult cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return measured(real<Row::cuEventElapsedTime_v2>()(pMilliseconds, hStart, hEnd), pMilliseconds,
                  hStart, hEnd);
}

// Forgotten first: another thread may get the handle the moment the driver has it back.
CUresult cuEventDestroy(CUevent hEvent) {
  times().destroyed(hEvent);
  return real<Row::cuEventDestroy>()(hEvent);
}
CUresult cuEventDestroy_v2(CUevent hEvent) {
  times().destroyed(hEvent);
  return real<Row::cuEventDestroy_v2>()(hEvent);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies, size_t numDependencies,
                                   CUevent event) {
  return given(real<Row::cuGraphAddEventRecordNode>()(phGraphNode, hGraph, dependencies,
                                                      numDependencies, event),
               event);
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event) {
  return given(real<Row::cuGraphEventRecordNodeSetEvent>()(hNode, event), event);
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUevent event) {
  return given(real<Row::cuGraphExecEventRecordNodeSetEvent>()(hGraphExec, hNode, event), event);
}

CUresult cuGraphAddNode(CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                        size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return add_with<Row::cuGraphAddNode>(hGraph, nodeParams, phGraphNode, hGraph, dependencies,
                                       numDependencies);
}
CUresult cuGraphAddNode_v2(CUgraphNode* phGraphNode, CUgraph hGraph,
                           const CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                           size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return add_with<Row::cuGraphAddNode_v2>(hGraph, nodeParams, phGraphNode, hGraph, dependencies,
                                          dependencyData, numDependencies);
}
CUresult cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  return call_with<Row::cuGraphNodeSetParams>(nodeParams, hNode);
}
CUresult cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                  CUgraphNodeParams* nodeParams) {
  return call_with<Row::cuGraphExecNodeSetParams>(nodeParams, hGraphExec, hNode);
}

}  // namespace nvs::hooks
