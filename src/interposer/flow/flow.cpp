// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/flow.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "interposer/exports/default_streams.h"
#include "interposer/exports/real.h"
#include "interposer/flow/habits.h"
#include "interposer/flow/lane.h"
#include "interposer/flow/streams_at_work.h"
#include "interposer/gate/gate.h"
#include "interposer/resolve/clock.h"
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
  std::uint32_t losses_then;             // when the GPU was last seen empty
  Lane lanes[kEngines];
  StreamsAtWork at_work;
  std::atomic<std::int64_t> paused_ns;  // in all
  std::int64_t busy_since_ns;           // the first submission after nothing was known to run
  Habits habits;

  static_assert(kEngines == 2);
  Lane& of(Engine engine) { return lanes[static_cast<int>(engine)]; }
  bool is_empty() const { return lanes[0].queue.is_empty() && lanes[1].queue.is_empty(); }
  int marks() const { return lanes[0].queue.marks() + lanes[1].queue.marks(); }
  int unmarked() const { return lanes[0].queue.unmarked() + lanes[1].queue.unmarked(); }
  std::int64_t last_activity_ns() const {
    return std::max<std::int64_t>(lanes[0].last_activity_ns(), lanes[1].last_activity_ns());
  }
  bool knows_all() const {
    return losses.load() == losses_then && lanes[0].knows_all() && lanes[1].knows_all();
  }
};
constinit Line lines[gate::kGpusMax] = {};
// Those that ever had a bound, one bit each: the others are not touched, and cost no memory.
constinit std::atomic<std::uint32_t> used{0};

template <class Do>
void each_used(Do what) {
  for (std::uint32_t left = used.load(); left != 0; left &= left - 1) {
    what(lines[std::countr_zero(left)]);
  }
}

// A submission ends a pause, which tells what the next one will be like. One that began before the
// window did counts if it was long before that: the program slept, and then found the gate closed.
void end_pause(Line& line, std::int64_t now_ns) {
  const std::int64_t since_ns = line.last_activity_ns();
  const std::int64_t opened_ns = line.opened_ns.load();
  const std::int64_t turning_ns = line.turning_ns.load();
  const bool in_window = since_ns >= opened_ns;
  if (!in_window && turning_ns != 0) {
    for (Lane& lane : line.lanes) lane.queue.turns(now_ns);
  }
  const std::int64_t paused_ns = in_window ? now_ns - since_ns : now_ns - opened_ns + turning_ns;
  // Until a window is taken up is never the program's work, however short that is.
  const bool is_pause = !in_window || paused_ns >= kPause_ns;
  if (is_pause && line.knows_all()) line.paused_ns.fetch_add(paused_ns);
  const std::int64_t wanted_ns = in_window ? now_ns : line.wanted_ns.load();
  const bool met_closed = !in_window && wanted_ns > since_ns;
  // Nor is there one while a call that waits for its work is inside.
  const bool is_made = line.unmarked() == 0;
  if (is_made && (in_window || met_closed)) line.habits.paused(wanted_ns - since_ns);
  if (met_closed) line.habits.waited(opened_ns - wanted_ns);
}

void submit(Line& line, Engine engine, std::int64_t now_ns, const Source& source,
            std::uint64_t kind) {
  if (line.is_empty()) line.busy_since_ns = now_ns;
  if (line.marks() == 0) end_pause(line, now_ns);
  if (engine == Engine::any) line.at_work.add(source.stream);
  line.of(engine).submit(now_ns, source, kind);
}

// What a stream does is in order: beside kernels it is they that copies on it wait for. A default
// stream may be in order with others, too.
Engine engine_for(const Line& line, CUstream stream, std::uint64_t kind) {
  const bool is_copy = (kind & kBesideKernels) != 0;
  const bool is_own = !is_default_stream(stream) && !line.at_work.has(stream);
  return is_copy && is_own ? Engine::copies : Engine::any;
}

}  // namespace

void set_bound(int gpu, std::int64_t bound_ns) {
  if (bound_ns != 0) used.fetch_or(1U << gpu);
  const std::int64_t before_ns = lines[gpu].bound_ns.exchange(bound_ns, std::memory_order_relaxed);
  if (bound_ns == 0 || before_ns == 0) lose_track(gpu);
}

bool is_bounded(int gpu) { return lines[gpu].bound_ns.load(std::memory_order_relaxed) != 0; }

void take_back(int gpu, Engine engine) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  --line.of(engine).being_made;
  line.of(engine).complete = false;
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
  if (bound_ns == 0) return {0, 0, false};
  const Source source = source_of(stream);
  const os::FutexGuard guard(line.lock);
  const std::int64_t now_ns = clock_ns();
  const Engine engine = engine_for(line, stream, kind);
  Lane& lane = line.of(engine);
  const Lane::Asking one{bound_ns, kind, asked_ns != 0 ? asked_ns : now_ns};
  std::int64_t wait_ns = lane.wait_ns(now_ns, one);
  // Events are looked at where it can matter: there is no room, or a mark should be done by now.
  if (wait_ns > 0 || lane.queue.poll_in_ns(now_ns) <= kMarkEvery_ns) {
    lane.reap(gpu, now_ns);
    wait_ns = lane.wait_ns(now_ns, one);
  }
  if (wait_ns > 0 && !lane.is_held_up(kind)) {
    lane.first_come.waits(now_ns, one.asked_ns, lane.queue.enough_ns(bound_ns, kind));
    const std::int64_t spare_ns = lane.queue.remaining_ns(now_ns) - kStayAwake_ns;
    const std::int64_t sleep_ns = std::clamp<std::int64_t>(spare_ns, 0, wait_ns);
    return {wait_ns, sleep_ns, false, one.asked_ns, engine};
  }
  lane.first_come.leaves(one.asked_ns);
  submit(line, engine, now_ns, source, kind);
  return {0, 0, true, one.asked_ns, engine};
}

void asks_no_more(int gpu, std::int64_t asked_ns) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  for (Lane& lane : line.lanes) lane.first_come.leaves(asked_ns);
}

void waited_in_vain(int gpu, std::int64_t since_ns, Engine engine) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  line.of(engine).waited_in_vain(clock_ns(), since_ns);
}

bool count(int gpu, CUstream stream, std::uint64_t kind, Engine engine) {
  Line& line = lines[gpu];
  if (line.bound_ns.load(std::memory_order_relaxed) == 0) return false;
  const Source source = source_of(stream);
  const os::FutexGuard guard(line.lock);
  submit(line, engine, clock_ns(), source, kind);
  return true;
}

void made(int gpu, Engine engine) {
  Line& line = lines[gpu];
  const os::FutexGuard guard(line.lock);
  line.of(engine).note_made(clock_ns());
}

void mark(int gpu, CUstream stream, Engine engine) {
  Line& line = lines[gpu];
  Lane& lane = line.of(engine);
  Event event{};
  const CUcontext context = context_of(stream);
  const Source source = source_of(stream);
  std::uint32_t made_before = 0;
  {
    const std::int64_t bound_ns = line.bound_ns.load(std::memory_order_relaxed);
    const os::FutexGuard guard(line.lock);
    lane.note_made(clock_ns());
    made_before = lane.made;
    if (context == nullptr || !lane.queue.needs_mark(clock_ns(), bound_ns)) return;
    event = lane.take_event(context);
  }
  // The lock is not held where the driver may have to wait for room in a stream.
  const auto record = real<Row::cuEventRecord>();
  if (record == nullptr) return;
  if (event.context == nullptr && !create_event(context, event)) return;
  const bool recorded = record(event.event, stream) == CUDA_SUCCESS;
  const os::FutexGuard guard(line.lock);
  if (!recorded) return lane.keep(event);
  lane.marked(clock_ns(), event, source, made_before);
}

bool look(int gpu, Look& result) {
  Line& line = lines[gpu];
  if (line.bound_ns.load(std::memory_order_relaxed) == 0 || !line.lock.try_lock()) return false;
  const std::int64_t now_ns = clock_ns();
  for (Lane& lane : line.lanes) lane.reap(gpu, now_ns);
  const Queue& any = line.of(Engine::any).queue;
  const Queue& copies = line.of(Engine::copies).queue;
  result.quiet_ns = now_ns - line.last_activity_ns();
  result.remaining_ns =
      std::max<std::int64_t>(any.remaining_ns(now_ns), copies.remaining_ns(now_ns));
  // Submissions behind the last mark are few and lie closer together than marks do.
  const bool unmarked_done = line.unmarked() == 0 || result.quiet_ns > 2 * result.remaining_ns;
  result.done = line.marks() == 0 && unmarked_done && !gate::is_submitting(gpu);
  result.certain = line.knows_all();
  const bool is_known = result.certain && copies.is_empty();
  result.ends_in_ns = is_known ? any.ends_in_ns(now_ns) : 0;
  result.look_again_ns = std::min<std::int64_t>(any.poll_in_ns(now_ns), copies.poll_in_ns(now_ns));
  result.completions = any.completions() + copies.completions();
  const Queue& oldest = any.marks() > 0 ? any : copies;
  result.oldest = oldest.oldest_number();
  result.next = oldest.next_number();
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
  for (Lane& lane : line.lanes) lane.emptied(clock_ns());
  line.losses_then = since.losses;
}

void stream_ends(CUstream stream) {
  each_used([stream](Line& line) {
    const os::FutexGuard guard(line.lock);
    for (Lane& lane : line.lanes) lane.stream_ends(stream);
    line.at_work.ends(stream);
  });
}

void context_ends(CUcontext context) {
  each_used([context](Line& line) {
    const os::FutexGuard guard(line.lock);
    for (Lane& lane : line.lanes) lane.context_ends(context);
  });
}

void start_over_in_child() {
  each_used([](Line& line) {
    line.lock.reset();
    line.bound_ns.store(0, std::memory_order_relaxed);
    for (Lane& lane : line.lanes) lane.start_over();
    line.at_work = {};
    line.habits = {};
  });
}

}  // namespace nvs::interposer::flow
