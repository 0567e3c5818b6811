// SPDX-License-Identifier: Apache-2.0
// Entry points: streams.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/graph_rules.h"
#include "cuda_sim/work/event_record.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace {

constexpr int kPriorityGreatest = -5;

CUresult create(CUstream* out, unsigned flags, int priority) {
  if (out == nullptr || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  auto stream = std::make_shared<Stream>();
  stream->context = context.get();
  stream->flags = flags;
  stream->priority = std::clamp(priority, kPriorityGreatest, 0);
  stream->id = d.next_id++;
  stream->handle = d.streams.add(stream);
  context->streams.push_back(stream);
  *out = stream->handle;
  return CUDA_SUCCESS;
}

// The stream that began a capture takes it along; without one that joined, it can only fail.
void leave_capture(Driver& d, Stream& stream) {
  const auto capture = stream.capture;
  if (!capture) return;
  if (capture->origin == &stream) {
    d.end_capture(capture);
    if (!capture->to_existing_graph) drop_graph(d, *capture->graph);
    return;
  }
  capture->invalidated = true;
  std::erase(capture->streams, &stream);
}

// Work already submitted goes on; the handle is gone at once.
CUresult destroy(CUstream handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto stream = d.streams.find(handle);
  if (!stream) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->context->sticky != CUDA_SUCCESS) return stream->context->sticky;
  leave_capture(d, *stream);
  d.streams.remove(handle);
  // A blocking stream's last work still holds back the legacy stream.
  Stream& legacy = *stream->context->legacy;
  if (stream->blocking() && stream->tail && !stream->tail->finished(now_ns())) {
    const auto join = std::make_shared<Marker>("the end of a stream");
    enqueue(legacy, join, {stream->tail});
  }
  std::erase(stream->context->streams, stream);
  return CUDA_SUCCESS;
}

// Waiting for an event that a capture recorded: the stream joins that capture, which is how one
// forks, or its own branch joins another of the same capture.
CUresult wait_for_captured(const std::shared_ptr<Stream>& stream, const Event& event) {
  if (event.capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream->capture && stream->capture != event.capture) {
    stream->capture->invalidated = true;
    event.capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_MERGE;
  }
  if (!stream->capture) {
    if (stream->kind == StreamKind::legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    stream->capture = event.capture;
    stream->capture->streams.push_back(stream.get());
    stream->capture_tail.clear();
  }
  for (GraphNode* node : event.nodes) {
    auto& tail = stream->capture_tail;
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuStreamCreate, (CUstream * out, unsigned int flags), out, flags) {
  return create(out, flags, 0);
}

NVS_SIM(cuStreamCreateWithPriority, (CUstream * out, unsigned int flags, int priority), out, flags,
        priority) {
  return create(out, flags, priority);
}

NVS_SIM(cuStreamDestroy_v2, (CUstream handle), handle) { return destroy(handle); }
NVS_SIM(cuStreamDestroy, (CUstream handle), handle) { return destroy(handle); }

NVS_SIM_STREAM(cuStreamSynchronize, _ptsz, (CUstream handle), handle) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  if (stream->capture) return invalidate(*stream->capture);
  if (const CUresult result = refuse_in_capture(d); result != CUDA_SUCCESS) return result;
  const auto context = d.contexts.find(stream->context->handle);
  // The legacy stream stands for all blocking streams.
  for (const OpPtr& op :
       stream->kind == StreamKind::legacy ? predecessors(*stream) : std::vector{stream->tail}) {
    context->engine->wait(guard, op);
  }
  trim_pools(d);
  return context->sticky;
}

NVS_SIM_STREAM(cuStreamQuery, _ptsz, (CUstream handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  if (stream->capture) return invalidate(*stream->capture);
  if (const CUresult result = refuse_in_capture(d); result != CUDA_SUCCESS) return result;
  const Nanos now = now_ns();
  for (const OpPtr& op :
       stream->kind == StreamKind::legacy ? predecessors(*stream) : std::vector{stream->tail}) {
    if (op && !op->finished(now)) return CUDA_ERROR_NOT_READY;
  }
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamWaitEvent, _ptsz,
               (CUstream handle, CUevent event_handle, unsigned int flags), handle, event_handle,
               flags) {
  if ((flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  const auto event = d.events.find(event_handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  const bool external = (flags & CU_EVENT_WAIT_EXTERNAL) != 0;
  if (event->capture) return wait_for_captured(stream, *event);
  if (event->capture_over) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    if (external) return capture(d, *stream, EventWaitWork{event});
    stream->capture->invalidated = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  if (external) return CUDA_ERROR_ILLEGAL_STATE;
  enqueue(*stream, std::make_shared<Marker>("a wait for an event"), {record_of(d, *event)});
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamGetFlags, _ptsz, (CUstream handle, unsigned int* flags), handle, flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamGetPriority, _ptsz, (CUstream handle, int* priority), handle, priority) {
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  *priority = stream->priority;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamGetCtx, _ptsz, (CUstream handle, CUcontext* context), handle, context) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  *context = stream->context->handle;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamGetCtx_v2, _ptsz, (CUstream handle, CUcontext* context, CUgreenCtx* green),
               handle, context, green) {
  if (context == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  *context = stream->context->handle;
  if (green != nullptr) *green = nullptr;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamGetId, _ptsz, (CUstream handle, unsigned long long* id), handle, id) {
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  *id = stream->id;
  return CUDA_SUCCESS;
}

NVS_SIM_STREAM(cuStreamGetDevice, _ptsz, (CUstream handle, CUdevice* device), handle, device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_LOOK_UP_STREAM(stream, handle)
  *device = d.device_of(stream->context->gpu);
  return CUDA_SUCCESS;
}
