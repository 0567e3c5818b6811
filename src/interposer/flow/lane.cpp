// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/lane.h"

#include <algorithm>

#include "interposer/exports/real.h"
#include "interposer/flow/flow.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/session/faults.h"

namespace nvs::interposer::flow {
namespace {

// In a context that is broken, or at the end of the process, nothing runs any more.
bool is_complete(int gpu, const Event& event) {
  const auto query = real<Row::cuEventQuery>();
  if (event.context == nullptr || query == nullptr) return true;
  const CUresult result = query(event.event);
  faults::note(gpu, result);
  return result != CUDA_ERROR_NOT_READY;
}

}  // namespace

std::int64_t Lane::last_activity_ns() const {
  return std::max<std::int64_t>(queue.last_submission_ns(), queue.last_completion_ns());
}

// A stream may wait for what is submitted to another one: then marks behind the oldest complete
// before it, and must not count as queued.
void Lane::drop_complete(int gpu) {
  int kept = 1;
  const int count = queue.marks();
  for (int i = 1; i < count; ++i) {
    const Event event = mark_at(i);
    if (is_complete(gpu, event)) {
      keep(event);
      queue.drop_at(kept);
      ++ended;
    } else {
      mark_at(kept++) = event;
    }
  }
}

void Lane::reap(int gpu, std::int64_t now_ns) {
  const RelaxedCapture relaxed;
  const int count = queue.marks();
  int done = 0;
  while (done < count && is_complete(gpu, mark_at(done))) ++done;
  for (int i = 0; i < done; ++i) keep(mark_at(i));
  first = (first + done) % kMarksMax;
  ended += static_cast<std::uint32_t>(done);
  queue.completed(now_ns, done);
  if (done == count) return;
  queue.seen_running(now_ns);
  if (queue.is_overdue(now_ns)) drop_complete(gpu);
}

std::int64_t Lane::wait_ns(std::int64_t now_ns, const Asking& one) {
  const std::int64_t wait_ns = queue.wait_ns(now_ns, one.bound_ns, one.kind);
  if (wait_ns > 0 || queue.is_much_longer(now_ns, one.bound_ns)) return wait_ns;
  const std::int64_t limit_ns = first_come.limit_ns(now_ns, one.asked_ns);
  const std::int64_t queued_ns = queue.remaining_ns(now_ns) + queue.guess_ns(one.kind);
  if (queued_ns <= limit_ns) return 0;
  return std::min<std::int64_t>(queued_ns - limit_ns, queue.poll_in_ns(now_ns));
}

// It may as well be a long kernel, and then as much of what is behind it is what the next tenant
// waits for.
bool Lane::is_held_up(std::uint64_t kind) {
  if (vain == 0 || ended != ended_then) return false;
  if (queue.behind_oldest_ns() >= kQueuedInVain_ns) return false;
  return vain >= kVainMax || queue.has_learnt(kind);
}

void Lane::waited_in_vain(std::int64_t now_ns, std::int64_t since_ns) {
  first_come.leaves(since_ns);
  // Others were quicker: what is queued gets on.
  if (queue.last_completion_ns() > since_ns) return;
  // A kernel that always takes that long waits for nobody.
  if (queue.is_steady() && !queue.is_late(now_ns)) return;
  vain = ended == ended_then ? vain + 1 : 1;
  ended_then = ended;
}

void Lane::submit(std::int64_t now_ns, const Source& source, std::uint64_t kind) {
  if (queue.unmarked() != 0 && source != behind) mixed = true;
  behind = source;
  queue.submit(now_ns, kind);
  ++being_made;
}

void Lane::note_made(std::int64_t now_ns) {
  --being_made;
  ++made;
  queue.made(now_ns);
  // A mark of another thread was recorded before this submission was made, and counts for it.
  if (queue.unmarked() == 0) complete = false;
}

Event Lane::take_event(CUcontext context) {
  for (int i = spares - 1; i >= 0; --i) {
    if (spare[i].context != context) continue;
    const Event event = spare[i];
    spare[i] = spare[--spares];
    return event;
  }
  return {nullptr, nullptr};
}

void Lane::marked(std::int64_t now_ns, const Event& event, const Source& source,
                  std::uint32_t made_before) {
  if (queue.is_full() || queue.unmarked() == 0) return keep(event);
  // What other threads have counted, or have made since, may come after the mark.
  const bool is_last = being_made == 0 && made == made_before;
  if (mixed || behind != source || !is_last) complete = false;
  mixed = false;
  mark_at(queue.marks()) = event;
  queue.marked(now_ns);
}

void Lane::keep(const Event& event) {
  if (event.context == nullptr) return;
  if (spares < kMarksMax) {
    spare[spares++] = event;
  } else if (const auto destroy = real<Row::cuEventDestroy_v2>()) {
    destroy(event.event);
  }
}

void Lane::emptied(std::int64_t now_ns) {
  for (int i = 0; i < queue.marks(); ++i) keep(mark_at(i));
  queue.emptied(now_ns);
  complete = true;
  mixed = false;
  vain = 0;
}

// Its handle may come back as that of another one, while its work goes on.
void Lane::stream_ends(CUstream stream) {
  if (queue.unmarked() != 0 && behind.stream == stream) mixed = true;
}

void Lane::context_ends(CUcontext context) {
  const auto destroy = real<Row::cuEventDestroy_v2>();
  if (queue.unmarked() != 0) mixed = true;  // its streams end with it
  const auto drop = [&](Event& event) {
    if (event.context != context) return false;
    event.context = nullptr;
    complete = false;  // the context may go on, and its work with it
    if (destroy != nullptr) destroy(event.event);
    return true;
  };
  for (int i = 0; i < queue.marks(); ++i) drop(mark_at(i));
  for (int i = spares - 1; i >= 0; --i) {
    if (drop(spare[i])) spare[i] = spare[--spares];
  }
}

void Lane::start_over() {
  queue = {};
  complete = false;
  being_made = 0;
  spares = 0;
  vain = 0;
  first_come = {};
}

}  // namespace nvs::interposer::flow
