// SPDX-License-Identifier: Apache-2.0
// Entry points: capturing a stream's work as a graph instead of running it.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/graph_rules.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace {

CUresult begin(CUstream handle, CUstreamCaptureMode mode, std::shared_ptr<Graph> graph,
               std::vector<GraphNode*> after) {
  if (mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  if (stream->kind == StreamKind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->to_existing_graph = graph != nullptr;
  capture->graph = graph ? graph : std::make_shared<Graph>();
  if (!graph) capture->graph->handle = d.graphs.add(capture->graph);
  capture->origin = stream.get();
  capture->mode = mode;
  capture->thread = current_thread();
  capture->id = d.next_id++;
  capture->streams = {stream.get()};
  stream->capture = capture;
  stream->capture_tail = std::move(after);
  d.captures.push_back(std::move(capture));
  return CUDA_SUCCESS;
}

// Every node must lead to the origin stream's last one, or work would be lost.
bool all_joined(const Capture& capture) {
  std::vector<const GraphNode*> reached(capture.origin->capture_tail.begin(),
                                        capture.origin->capture_tail.end());
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const GraphNode* before : reached[i]->after) {
      if (std::find(reached.begin(), reached.end(), before) == reached.end()) {
        reached.push_back(before);
      }
    }
  }
  for (const Stream* stream : capture.streams) {
    for (const GraphNode* node : stream->capture_tail) {
      if (std::find(reached.begin(), reached.end(), node) == reached.end()) return false;
    }
  }
  return true;
}

CUresult info(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
              const CUgraphNode** nodes, const CUgraphEdgeData** edges, std::size_t* count) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  if (capture_in_order_with(d, *stream) != nullptr) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  if (!stream->capture) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  }
  if (stream->capture->invalidated) {
    *status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    return CUDA_SUCCESS;
  }
  static thread_local std::vector<CUgraphNode> tail;
  tail.clear();
  for (const GraphNode* node : stream->capture_tail) tail.push_back(node->handle);
  *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph->handle;
  if (nodes != nullptr) *nodes = tail.data();
  if (edges != nullptr) *edges = nullptr;
  if (count != nullptr) *count = tail.size();
  return CUDA_SUCCESS;
}

CUresult update(CUstream handle, const CUgraphNode* nodes, std::size_t count, unsigned flags) {
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  if (!stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (count != 0 && nodes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::vector<GraphNode*> tail;
  if (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES) tail = stream->capture_tail;
  for (std::size_t i = 0; i < count; ++i) {
    const auto node = d.nodes.find(nodes[i]);
    if (!node || node->graph != stream->capture->graph.get()) return CUDA_ERROR_INVALID_VALUE;
    if (std::find(tail.begin(), tail.end(), node.get()) == tail.end()) tail.push_back(node.get());
  }
  stream->capture_tail = std::move(tail);
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM_STREAM(cuStreamBeginCapture_v2, _ptsz, (CUstream handle, CUstreamCaptureMode mode), handle,
               mode) {
  return begin(handle, mode, nullptr, {});
}

NVS_SIM_STREAM(cuStreamBeginCapture, _ptsz, (CUstream handle), handle) {
  return begin(handle, CU_STREAM_CAPTURE_MODE_GLOBAL, nullptr, {});
}

NVS_SIM_STREAM(cuStreamBeginCaptureToGraph, _ptsz,
               (CUstream handle, CUgraph graph_handle, const CUgraphNode* nodes,
                const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode),
               handle, graph_handle, nodes, edges, count, mode) {
  static_cast<void>(edges);  // only programmatic launches use them
  std::shared_ptr<Graph> graph;
  std::vector<GraphNode*> after;
  {
    Driver& d = driver();
    const std::lock_guard guard{d.lock};
    graph = d.graphs.find(graph_handle);
    if (!graph || (count != 0 && nodes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      const auto node = d.nodes.find(nodes[i]);
      if (!node || node->graph != graph.get()) return CUDA_ERROR_INVALID_VALUE;
      after.push_back(node.get());
    }
  }
  return begin(handle, mode, std::move(graph), std::move(after));
}

NVS_SIM_STREAM(cuStreamEndCapture, _ptsz, (CUstream handle, CUgraph* out), handle, out) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  const auto capture = stream->capture;
  if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream.get()) {
    capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  // Measured on an H200: also a capture that the wrong thread ends has ended.
  const bool wrong_thread =
      capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != current_thread();
  CUresult result = CUDA_SUCCESS;
  if (wrong_thread) {
    result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  } else if (capture->invalidated) {
    result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  } else if (!all_joined(*capture)) {
    result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  }
  d.end_capture(capture);
  // Measured on an H200: without a place for the graph the capture ends all the same.
  if (result != CUDA_SUCCESS || out == nullptr) {
    if (!capture->to_existing_graph) drop_graph(d, *capture->graph);
    if (out != nullptr) *out = nullptr;
    return result;
  }
  *out = capture->graph->handle;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamIsCapturing, _ptsz, (CUstream handle, CUstreamCaptureStatus* status), handle,
               status) {
  return info(handle, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}

NVS_SIM_STREAM(cuStreamGetCaptureInfo, _ptsz,
               (CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id), handle, status,
               id) {
  return info(handle, status, id, nullptr, nullptr, nullptr, nullptr);
}

NVS_SIM_STREAM(cuStreamGetCaptureInfo_v2, _ptsz,
               (CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                const CUgraphNode** nodes, size_t* count),
               handle, status, id, graph, nodes, count) {
  return info(handle, status, id, graph, nodes, nullptr, count);
}

NVS_SIM_STREAM(cuStreamGetCaptureInfo_v3, _ptsz,
               (CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count),
               handle, status, id, graph, nodes, edges, count) {
  return info(handle, status, id, graph, nodes, edges, count);
}

NVS_SIM_STREAM(cuStreamUpdateCaptureDependencies, _ptsz,
               (CUstream handle, CUgraphNode* nodes, size_t count, unsigned int flags), handle,
               nodes, count, flags) {
  return update(handle, nodes, count, flags);
}

NVS_SIM_STREAM(cuStreamUpdateCaptureDependencies_v2, _ptsz,
               (CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData* edges, size_t count,
                unsigned int flags),
               handle, nodes, edges, count, flags) {
  static_cast<void>(edges);
  return update(handle, nodes, count, flags);
}
