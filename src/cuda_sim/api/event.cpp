// SPDX-License-Identifier: Apache-2.0
// Entry points: events and the times between them.
#include "cuda_sim/api/call.h"
#include "cuda_sim/work/event_record.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace {

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult record(CUevent handle, CUstream stream_handle, unsigned flags) {
  if ((flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  {
    const std::lock_guard guard{d.lock};
    const auto event = d.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    NVS_SIM_FIND_STREAM(stream, stream_handle)
    if (stream->context != event->context) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture) {
      if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
      if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) {
        return capture(d, *stream, EventRecordWork{event});
      }
      event->capture = stream->capture;
      event->capture_over = false;
      event->nodes = stream->capture_tail;
      return CUDA_SUCCESS;
    }
    if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_ILLEGAL_STATE;
    event->capture = nullptr;
    event->capture_over = false;
    event->record = std::make_shared<Marker>("an event record");
    enqueue(*stream, event->record);
    announce_record(*event);
  }
  d.spend(d.machine->model().event_record_ns);
  return CUDA_SUCCESS;
}

// The events' own times are the modelled ends of what they follow, free of the host's noise.
CUresult elapsed(float* milliseconds, CUevent begin_handle, CUevent end_handle) {
  if (milliseconds == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // measured on an H200
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto begin = d.events.find(begin_handle);
  const auto end = d.events.find(end_handle);
  if (!begin || !end) return CUDA_ERROR_INVALID_HANDLE;
  if (begin->context->sticky != CUDA_SUCCESS) return begin->context->sticky;
  for (const auto& event : {begin, end}) {
    if ((event->flags & CU_EVENT_DISABLE_TIMING) != 0 || !event->record || event->capture ||
        event->capture_over) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
  }
  if (begin->context != end->context) return CUDA_ERROR_INVALID_HANDLE;
  const Nanos now = now_ns();
  if (!begin->record->finished(now) || !end->record->finished(now)) return CUDA_ERROR_NOT_READY;
  *milliseconds =
      static_cast<float>(static_cast<double>(end->record->end() - begin->record->end()) / 1e6);
  return CUDA_SUCCESS;
}

CUresult destroy(CUevent handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto event = d.events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (event->context->sticky != CUDA_SUCCESS) return event->context->sticky;
  d.events.remove(handle);
  return CUDA_SUCCESS;
}

// Whether the host may ask for the event's state, which a capture does not have.
CUresult check_observable(Driver& d, const Event& event) {
  if (event.context->sticky != CUDA_SUCCESS) return event.context->sticky;
  if (event.capture) {
    event.capture->invalidated = true;
    return CUDA_ERROR_CAPTURED_EVENT;
  }
  if (event.capture_over) return CUDA_ERROR_INVALID_VALUE;
  return refuse_in_capture(d);
}

// A context and an event of its own, for the calls that mean all of a context's streams.
CUresult find_pair(Driver& d, CUcontext context_handle, CUevent event_handle,
                   std::shared_ptr<Context>& context, std::shared_ptr<Event>& event) {
  context = d.contexts.find(context_handle);
  if (!context) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->destroyed) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  if (context->sticky != CUDA_SUCCESS) return context->sticky;
  event = d.events.find(event_handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& capture : d.captures) {
    if (capture->origin->context == context.get()) return invalidate(*capture);
  }
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuEventCreate, (CUevent * out, unsigned int flags), out, flags) {
  if (out == nullptr || (flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  const bool shared = (flags & CU_EVENT_INTERPROCESS) != 0;
  if (shared && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  auto event = std::make_shared<Event>();
  event->context = context.get();
  event->flags = flags;
  if (shared) {
    event->shared = SharedEvent::create();
    if (!event->shared) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  event->handle = d.events.add(event);
  *out = event->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuEventDestroy_v2, (CUevent handle), handle) { return destroy(handle); }
NVS_SIM(cuEventDestroy, (CUevent handle), handle) { return destroy(handle); }

NVS_SIM_STREAM(cuEventRecord, _ptsz, (CUevent event, CUstream stream), event, stream) {
  return record(event, stream, 0);
}

NVS_SIM_STREAM(cuEventRecordWithFlags, _ptsz, (CUevent event, CUstream stream, unsigned int flags),
               event, stream, flags) {
  return record(event, stream, flags);
}

NVS_SIM(cuEventQuery, (CUevent handle), handle) {
  Driver& d = driver();
  CUresult result = CUDA_SUCCESS;
  {
    const std::lock_guard guard{d.lock};
    const auto event = d.events.find(handle);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult refused = check_observable(d, *event);
    if (refused != CUDA_SUCCESS) return refused;
    const OpPtr pending = record_of(d, *event);
    if (pending && !pending->finished(now_ns())) result = CUDA_ERROR_NOT_READY;
  }
  d.spend(d.machine->model().event_query_ns);
  return result;
}

NVS_SIM(cuEventSynchronize, (CUevent handle), handle) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  const auto event = d.events.find(handle);
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult refused = check_observable(d, *event); refused != CUDA_SUCCESS) return refused;
  event->context->engine->wait(guard, record_of(d, *event));
  trim_pools(d);
  return event->context->sticky;
}

NVS_SIM(cuEventElapsedTime, (float* milliseconds, CUevent begin, CUevent end), milliseconds, begin,
        end) {
  return elapsed(milliseconds, begin, end);
}

NVS_SIM(cuEventElapsedTime_v2, (float* milliseconds, CUevent begin, CUevent end), milliseconds,
        begin, end) {
  return elapsed(milliseconds, begin, end);
}

NVS_SIM(cuCtxRecordEvent, (CUcontext context_handle, CUevent event_handle), context_handle,
        event_handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Context> context;
  std::shared_ptr<Event> event;
  if (const CUresult result = find_pair(d, context_handle, event_handle, context, event);
      result != CUDA_SUCCESS) {
    return result;
  }
  if (event->context != context.get()) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<OpPtr> tails{context->legacy->tail, context->barrier};
  for (const auto& stream : context->streams) tails.push_back(stream->tail);
  for (const auto& [thread, stream] : context->per_thread) tails.push_back(stream->tail);
  event->capture = nullptr;
  event->capture_over = false;
  event->record = std::make_shared<Marker>("an event record");
  context->engine->submit(event->record, tails);
  announce_record(*event);
  return CUDA_SUCCESS;
}

NVS_SIM(cuCtxWaitEvent, (CUcontext context_handle, CUevent event_handle), context_handle,
        event_handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Context> context;
  std::shared_ptr<Event> event;
  if (const CUresult result = find_pair(d, context_handle, event_handle, context, event);
      result != CUDA_SUCCESS) {
    return result;
  }
  const auto barrier = std::make_shared<Marker>("a wait for an event");
  context->engine->submit(barrier, std::vector{context->barrier, record_of(d, *event)});
  context->barrier = barrier;
  return CUDA_SUCCESS;
}
