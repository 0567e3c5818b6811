// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/ordered_streams.h"

#include "interposer/exports/default_streams.h"
#include "interposer/exports/in_context.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/libc.h"
#include "interposer/resolve/thread_number.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"
#include "os/linux_calls.h"

namespace nvs::interposer::swap {
namespace {

using vmm::HeapStream;
using vmm::StreamKey;
using vmm::StreamMarks;

constexpr std::int64_t kGreenPatience_ns = 2'000'000'000;
constexpr std::int64_t kGreenLook_ns = 200'000;

// The default stream of a thread has the same handle in each: its number is ours.
constexpr std::uint64_t kThreadStep = 4;
std::uint64_t number_of_thread() { return thread_number() * kThreadStep; }

StreamKey key_of(CUstream stream, std::uint64_t context) {
  const std::uint64_t number = memory::number_of(stream);
  if (stream == CU_STREAM_PER_THREAD) return {number_of_thread(), context};
  return {number, is_default_stream(stream) ? context : 0};
}

bool is_known(StreamPlace& place) {
  const os::FutexGuard guard(lock);
  const HeapStream* stream = stream_heap.find_stream(place.key);
  if (stream == nullptr) return false;
  place.context = stream->owner.context;
  place.device = stream->owner.device;
  return true;
}

// Not the stream's own context where that is a green one.
std::uint64_t owner_of(const StreamPlace& place) {
  const auto context = reinterpret_cast<CUcontext>(place.context);
  return memory::number_of(contexts::owner_for(context, place.device));
}

struct Events {
  CUevent all[StreamMarks::kMarksMax];
};

void destroy(const Events& events) {
  for (CUevent event : events.all) {
    if (event != nullptr) real<Row::cuEventDestroy_v2>()(event);
  }
}

// Without a time stamp they cost the GPU nothing.
CUresult make_events(Events& events) {
  for (CUevent& event : events.all) {
    const CUresult result = real<Row::cuEventCreate>()(&event, CU_EVENT_DISABLE_TIMING);
    if (result == CUDA_SUCCESS) continue;
    event = nullptr;
    destroy(events);
    return result;
  }
  return CUDA_SUCCESS;
}

// False: another thread was faster, or there is no memory to write it down.
bool write_down(const StreamPlace& place, std::uint64_t made_in, const Events& events) {
  const os::FutexGuard guard(lock);
  if (stream_heap.find_stream(place.key) != nullptr) return false;
  HeapStream* stream = stream_heap.add_stream(place.key, {place.context, place.device});
  if (stream == nullptr) return false;
  stream->made_in = made_in;
  for (int i = 0; i < StreamMarks::kMarksMax; ++i) {
    stream->events[i] = memory::number_of(events.all[i]);
  }
  return true;
}

CUresult learn(StreamPlace& place) {
  const RelaxedCapture relaxed;
  const InContext current(reinterpret_cast<CUcontext>(place.context));
  if (!current.is_set()) return CUDA_ERROR_INVALID_CONTEXT;
  place.device = memory::current_device();
  const std::uint64_t made_in = place.context;
  place.context = owner_of(place);  // blocks go with that one
  Events events{};
  const CUresult made = make_events(events);
  if (made != CUDA_SUCCESS) return made;
  if (write_down(place, made_in, events)) return CUDA_SUCCESS;
  destroy(events);
  return is_known(place) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

template <class Is>
void set_ending(bool is_ending, Is is) {
  const Looking looking;
  const os::FutexGuard guard(lock);
  for (HeapStream* stream = stream_heap.streams(); stream != nullptr; stream = stream->next) {
    if (is(*stream)) stream->is_ending = is_ending;
  }
}

void set_ending_of(std::uint64_t context, bool is_ending) {
  set_ending(is_ending, [&](const HeapStream& one) { return one.owner.context == context; });
}
void set_ending_made_in(std::uint64_t context) {
  set_ending(true, [&](const HeapStream& one) { return one.made_in == context; });
}

// Whether something still waits for one of its streams. Those for which nothing does are not known
// any more, and their events are destroyed.
bool forget_streams_made_in(std::uint64_t context) {
  const Looking looking;
  look_at_streams();
  bool is_waiting = false;
  {
    const os::FutexGuard guard(lock);
    for (HeapStream* stream = stream_heap.streams(); stream != nullptr; stream = stream->next) {
      if (stream->made_in != context) continue;
      stream_heap.stream_is_gone(stream);
      is_waiting = is_waiting || !stream->is_empty();
    }
  }
  sweep_streams();
  return is_waiting;
}

}  // namespace

CUresult find_stream(CUstream stream, StreamPlace& place) {
  if (is_default_stream(stream)) {
    place.context = memory::current_context().value;
    if (place.context == 0) return CUDA_ERROR_INVALID_CONTEXT;
  }
  place.key = key_of(stream, place.context);
  if (is_known(place)) return CUDA_SUCCESS;
  if (!is_default_stream(stream)) {
    CUcontext context = nullptr;
    const CUresult asked = real<Row::cuStreamGetCtx>()(stream, &context);
    if (asked != CUDA_SUCCESS) return asked;
    place.context = memory::number_of(context);
  }
  return learn(place);
}

// Before the driver hears of it: another thread may get the same handle at once.
void stream_ends(CUstream stream) {
  if (!session::has_any_daemon() || is_default_stream(stream)) return;
  const libc::NoCancel no_cancel;
  const Looking looking;
  {
    const os::FutexGuard guard(lock);
    HeapStream* known = stream_heap.find_stream(key_of(stream, 0));
    if (known == nullptr) return;
    stream_heap.stream_is_gone(known);
  }
  sweep_streams();
}

// What waits for its streams is nobody's before the driver ends them and our events. It is waited
// for as the driver waits, but not for ever: what is stuck is left alone.
void green_may_end(std::uint64_t context) {
  if (!session::has_any_daemon()) return;
  const libc::NoCancel no_cancel;
  const std::int64_t end_ns = os::monotonic_ns() + kGreenPatience_ns;
  while (forget_streams_made_in(context)) {
    if (os::monotonic_ns() > end_ns) return set_ending_made_in(context);
    os::sleep_ns(kGreenLook_ns);
  }
}

void ordered_may_end(std::uint64_t context) { set_ending_of(context, true); }
void ordered_goes_on(std::uint64_t context) { set_ending_of(context, false); }

}  // namespace nvs::interposer::swap
