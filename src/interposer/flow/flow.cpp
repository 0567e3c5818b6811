// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/flow.h"

#include <atomic>

#include "interposer/exports/real.h"
#include "interposer/flow/first_come.h"
#include "interposer/flow/habits.h"
#include "interposer/flow/mark_event.h"
#include "interposer/flow/queue.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/flow/source.h"
#include "interposer/gate/gate.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/faults.h"
#include "os/futex_lock.h"

namespace nvs::interposer::flow {
namespace {

struct Line {
  os::FutexLock lock;  // guards everything below but the atomics
  std::atomic<std::int64_t> bound_ns;
  std::atomic<std::int64_t> opened_ns;
  std::atomic<std::int64_t> turning_ns;  // what the GPU then needs to turn to us
  std::atomic<std::int64_t> wanted_ns;   // when a thread was the first to find the gate closed
  std::atomic<std::uint32_t> losses;     // how often track was lost
  Queue queue;
  // Every submission since the GPU was last seen empty has a mark behind it, or will have one;
  // unless track was lost since.
  bool complete;
  std::uint32_t losses_then;
  int being_made;          // submissions that are counted, and may not be in the driver yet
  std::uint32_t made;      // those that were made, ever
  Source behind;           // the stream of the submissions that have no mark yet
  bool mixed;              // they are of several, or of one that is gone
  Event marks[kMarksMax];  // in the order of the queue's
  int first;
  Event spare[kMarksMax];
  int spares;
  std::atomic<std::int64_t> paused_ns;  // in all
  std::int64_t busy_since_ns;           // the first submission after nothing was known to run
  std::uint32_t ended;                  // marks that were seen complete, in whatever order
  std::uint32_t ended_then;             // when somebody last waited for room in vain
  int vain;                             // how many did since
  Habits habits;
  FirstCome first_come;
};
constinit Line lines[gate::kGpusMax] = {};

Event& mark_at(Line& line, int index) { return line.marks[(line.first + index) % kMarksMax]; }

void keep(Line& line, Event event) {
  if (event.context == nullptr) return;
  if (line.spares < kMarksMax) {
    line.spare[line.spares++] = event;
  } else if (const auto destroy = real<Row::cuEventDestroy_v2>()) {
    destroy(event.event);
  }
}

bool take_spare(Line& line, CUcontext context, Event& event) {
  for (int i = line.spares - 1; i >= 0; --i) {
    if (line.spare[i].context != context) continue;
    event = line.spare[i];
    line.spare[i] = line.spare[--line.spares];
    return true;
  }
  return false;
}

// In a context that is broken, or at the end of the process, nothing runs any more.
bool is_complete(const Line& line, const Event& event) {
  const auto query = real<Row::cuEventQuery>();
  if (event.context == nullptr || query == nullptr) return true;
  const CUresult result = query(event.event);
  faults::note(static_cast<int>(&line - lines), result);
  return result != CUDA_ERROR_NOT_READY;
}

// A stream may wait for what is submitted to another one: then marks behind the oldest complete
// before it, and must not count as queued.
void drop_complete(Line& line) {
  int kept = 1;
  const int marks = line.queue.marks();
  for (int i = 1; i < marks; ++i) {
    const Event event = mark_at(line, i);
    if (is_complete(line, event)) {
      keep(line, event);
      line.queue.drop_at(kept);
      ++line.ended;
    } else {
      mark_at(line, kept++) = event;
    }
  }
}

// Looks at the oldest marks until one is not complete.
void reap(Line& line, std::int64_t now_ns) {
  const RelaxedCapture relaxed;
  const int marks = line.queue.marks();
  int complete = 0;
  while (complete < marks && is_complete(line, mark_at(line, complete))) ++complete;
  for (int i = 0; i < complete; ++i) keep(line, mark_at(line, i));
  line.first = (line.first + complete) % kMarksMax;
  line.ended += static_cast<std::uint32_t>(complete);
  line.queue.completed(now_ns, complete);
  if (complete == marks) return;
  line.queue.seen_running(now_ns);
  if (line.queue.is_overdue(now_ns)) drop_complete(line);
}

std::int64_t last_activity_ns(const Queue& queue) {
  const std::int64_t submitted_ns = queue.last_submission_ns();
  const std::int64_t completed_ns = queue.last_completion_ns();
  return submitted_ns > completed_ns ? submitted_ns : completed_ns;
}

// If no mark is left, nothing runs.
bool knows_all(const Line& line) {
  const bool lost = line.losses.load() != line.losses_then;
  return line.complete && !lost && line.queue.unmarked() == 0;
}

// What is queued may wait for what comes. It may as well be a long kernel, and then as much of what
// is behind it is what the next tenant waits for.
bool is_held_up(Line& line, std::uint64_t kind) {
  if (line.vain == 0 || line.ended != line.ended_then) return false;
  if (line.queue.behind_oldest_ns() >= kQueuedInVain_ns) return false;
  return line.vain >= kVainMax || line.queue.has_learnt(kind);
}

struct Asking {
  std::int64_t bound_ns;
  std::uint64_t kind;
  std::int64_t asked_ns;
};
// Until there is room, for this one before who asked later; 0: now. Where the queue does not get
// on, nobody waits for others that do.
std::int64_t wait_in_line_ns(Line& line, std::int64_t now_ns, const Asking& one) {
  const std::int64_t wait_ns = line.queue.wait_ns(now_ns, one.bound_ns, one.kind);
  if (wait_ns > 0 || line.queue.is_much_longer(now_ns, one.bound_ns)) return wait_ns;
  const std::int64_t limit_ns = line.first_come.limit_ns(now_ns, one.asked_ns);
  const std::int64_t queued_ns = line.queue.remaining_ns(now_ns) + line.queue.guess_ns(one.kind);
  if (queued_ns <= limit_ns) return 0;
  const std::int64_t until_room_ns = queued_ns - limit_ns;
  const std::int64_t look_again_ns = line.queue.poll_in_ns(now_ns);
  return until_room_ns < look_again_ns ? until_room_ns : look_again_ns;
}

// A submission ends a pause, which tells what the next one will be like. One that began before the
// window did counts if it was long before that: the program slept, and then found the gate closed.
void submit(Line& line, std::int64_t now_ns, const Source& source, std::uint64_t kind) {
  if (line.queue.unmarked() != 0 && source != line.behind) line.mixed = true;
  line.behind = source;
  if (line.queue.is_empty()) line.busy_since_ns = now_ns;
  if (line.queue.marks() == 0) {
    const std::int64_t since_ns = last_activity_ns(line.queue);
    const std::int64_t opened_ns = line.opened_ns.load();
    const std::int64_t turning_ns = line.turning_ns.load();
    const bool in_window = since_ns >= opened_ns;
    if (!in_window && turning_ns != 0) line.queue.turns(now_ns);
    const std::int64_t paused_ns = in_window ? now_ns - since_ns : now_ns - opened_ns + turning_ns;
    // Until a window is taken up is never the program's work, however short that is.
    const bool is_pause = !in_window || paused_ns >= kPause_ns;
    if (is_pause && knows_all(line)) line.paused_ns.fetch_add(paused_ns);
    const std::int64_t wanted_ns = in_window ? now_ns : line.wanted_ns.load();
    const bool met_closed = !in_window && wanted_ns > since_ns;
    // Nor is there one while a call that waits for its work is inside.
    const bool is_made = line.queue.unmarked() == 0;
    if (is_made && (in_window || met_closed)) line.habits.paused(wanted_ns - since_ns);
    if (met_closed) line.habits.waited(opened_ns - wanted_ns);
  }
  line.queue.submit(now_ns, kind);
  ++line.being_made;
}

void note_made(Line& line, std::int64_t now_ns) {
  --line.being_made;
  ++line.made;
  line.queue.made(now_ns);
  // A mark of another thread was recorded before this submission was made, and counts for it.
  if (line.queue.unmarked() == 0) line.complete = false;
}

}  // namespace

void set_bound(int gpu, std::int64_t bound_ns) {
  const std::int64_t before_ns = lines[gpu].bound_ns.exchange(bound_ns, std::memory_order_relaxed);
  if (bound_ns == 0 || before_ns == 0) lose_track(gpu);
}

bool is_bounded(int gpu) { return lines[gpu].bound_ns.load(std::memory_order_relaxed) != 0; }

void take_back(int gpu) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  --line.being_made;
  line.complete = false;
}

void lose_track(int gpu) { lines[gpu].losses.fetch_add(1); }

void gate_met_closed(int gpu) { lines[gpu].wanted_ns.store(clock_ns()); }

void window_opened(int gpu, bool took_over) {
  lines[gpu].turning_ns.store(took_over ? kTurnToUs_ns : 0);
  lines[gpu].opened_ns.store(clock_ns());
}

Room ask(int gpu, CUstream stream, std::uint64_t kind, std::int64_t asked_ns) {
  Line& line = lines[gpu];
  const std::int64_t bound_ns = line.bound_ns.load(std::memory_order_relaxed);
  if (bound_ns == 0) return {0, 0, false, 0};
  const Source source = source_of(stream);
  const os::FutexGuard guard(line.lock);
  const std::int64_t now_ns = clock_ns();
  if (asked_ns == 0) asked_ns = now_ns;
  std::int64_t wait_ns = wait_in_line_ns(line, now_ns, {bound_ns, kind, asked_ns});
  // Events are looked at where it can matter: there is no room, or a mark should be done by now.
  if (wait_ns > 0 || line.queue.poll_in_ns(now_ns) <= kMarkEvery_ns) {
    reap(line, now_ns);
    wait_ns = wait_in_line_ns(line, now_ns, {bound_ns, kind, asked_ns});
  }
  if (wait_ns > 0 && !is_held_up(line, kind)) {
    line.first_come.waits(now_ns, asked_ns, line.queue.enough_ns(bound_ns, kind));
    const std::int64_t spare_ns = line.queue.remaining_ns(now_ns) - kStayAwake_ns;
    return {wait_ns, spare_ns < 0 ? 0 : spare_ns < wait_ns ? spare_ns : wait_ns, false, asked_ns};
  }
  line.first_come.leaves(asked_ns);
  submit(line, now_ns, source, kind);
  return {0, 0, true, asked_ns};
}

void asks_no_more(int gpu, std::int64_t asked_ns) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  line.first_come.leaves(asked_ns);
}

void waited_in_vain(int gpu, std::int64_t since_ns) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  line.first_come.leaves(since_ns);
  // Others were quicker: what is queued gets on.
  if (line.queue.last_completion_ns() > since_ns) return;
  // A kernel that always takes that long waits for nobody.
  if (line.queue.is_steady() && !line.queue.is_late(clock_ns())) return;
  line.vain = line.ended == line.ended_then ? line.vain + 1 : 1;
  line.ended_then = line.ended;
}

bool count(int gpu, CUstream stream, std::uint64_t kind) {
  Line& line = lines[gpu];
  if (line.bound_ns.load(std::memory_order_relaxed) == 0) return false;
  const Source source = source_of(stream);
  const os::FutexGuard guard(line.lock);
  submit(line, clock_ns(), source, kind);
  return true;
}

void made(int gpu) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  note_made(line, clock_ns());
}

void mark(int gpu, CUstream stream) {
  Line& line = lines[gpu];
  Event event{};
  const CUcontext context = context_of(stream);
  const Source source = source_of(stream);
  std::uint32_t made_before = 0;
  {
    const std::int64_t bound_ns = line.bound_ns.load(std::memory_order_relaxed);
    const os::FutexGuard guard(line.lock);
    note_made(line, clock_ns());
    made_before = line.made;
    if (context == nullptr || !line.queue.needs_mark(clock_ns(), bound_ns)) return;
    if (!take_spare(line, context, event)) event.context = nullptr;
  }
  // The lock is not held where the driver may have to wait for room in a stream.
  const auto record = real<Row::cuEventRecord>();
  if (record == nullptr) return;
  if (event.context == nullptr && !create_event(context, event)) return;
  const bool recorded = record(event.event, stream) == CUDA_SUCCESS;
  const os::FutexGuard guard(line.lock);
  if (!recorded || line.queue.is_full() || line.queue.unmarked() == 0) {
    keep(line, event);
    return;
  }
  // What other threads have counted, or have made since, may come after the mark.
  const bool is_last = line.being_made == 0 && line.made == made_before;
  if (line.mixed || line.behind != source || !is_last) line.complete = false;
  line.mixed = false;
  mark_at(line, line.queue.marks()) = event;
  line.queue.marked(clock_ns());
}

bool look(int gpu, Look& result) {
  Line& line = lines[gpu];
  if (line.bound_ns.load(std::memory_order_relaxed) == 0 || !line.lock.try_lock()) return false;
  const std::int64_t now_ns = clock_ns();
  reap(line, now_ns);
  const Queue& queue = line.queue;
  result.quiet_ns = now_ns - last_activity_ns(queue);
  result.remaining_ns = queue.remaining_ns(now_ns);
  // Submissions behind the last mark are few and lie closer together than marks do.
  const bool unmarked_done = queue.unmarked() == 0 || result.quiet_ns > 2 * result.remaining_ns;
  result.done = queue.marks() == 0 && unmarked_done && !gate::is_submitting(gpu);
  result.certain = knows_all(line);
  result.ends_in_ns = result.certain ? queue.ends_in_ns(now_ns) : 0;
  result.look_again_ns = queue.poll_in_ns(now_ns);
  result.completions = queue.completions();
  result.oldest = queue.oldest_number();
  result.next = queue.next_number();
  result.sleeps_long = line.habits.sleeps_long();
  result.mostly_sleeps = line.habits.mostly_sleeps();
  result.waits_ns = line.habits.waits_ns();
  result.paused_ns = line.paused_ns.load();
  result.busy_ns = now_ns - line.busy_since_ns;
  line.lock.unlock();
  return true;
}

std::int64_t paused_ns(int gpu) { return lines[gpu].paused_ns.load(); }

Moment now(int gpu) { return {lines[gpu].losses.load(), lines[gpu].opened_ns.load()}; }

void emptied(int gpu, const Moment& since) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  // Whoever comes in by a window that opens from now on is counted after this, or loses track.
  if (line.losses.load() != since.losses || line.opened_ns.load() != since.opened_ns) return;
  for (int i = 0; i < line.queue.marks(); ++i) keep(line, mark_at(line, i));
  line.queue.emptied(clock_ns());
  line.complete = true;
  line.losses_then = since.losses;
  line.mixed = false;
  line.vain = 0;
}

// Its handle may come back as that of another one, while its work goes on.
void stream_ends(CUstream stream) {
  for (Line& line : lines) {
    const os::FutexGuard guard(line.lock);
    if (line.queue.unmarked() != 0 && line.behind.stream == stream) line.mixed = true;
  }
}

void context_ends(CUcontext context) {
  const auto destroy = real<Row::cuEventDestroy_v2>();
  for (Line& line : lines) {
    const os::FutexGuard guard(line.lock);
    if (line.queue.unmarked() != 0) line.mixed = true;  // its streams end with it
    const auto drop = [&](Event& event) {
      if (event.context != context) return false;
      event.context = nullptr;
      line.complete = false;  // the context may go on, and its work with it
      if (destroy != nullptr) destroy(event.event);
      return true;
    };
    for (int i = 0; i < line.queue.marks(); ++i) drop(mark_at(line, i));
    for (int i = line.spares - 1; i >= 0; --i) {
      if (drop(line.spare[i])) line.spare[i] = line.spare[--line.spares];
    }
  }
}

void start_over_in_child() {
  for (Line& line : lines) {
    line.lock.reset();
    line.bound_ns.store(0, std::memory_order_relaxed);
    line.queue = {};
    line.complete = false;
    line.being_made = 0;
    line.spares = 0;
    line.vain = 0;
    line.habits = {};
    line.first_come = {};
  }
}

}  // namespace nvs::interposer::flow
