// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/windows.h"

#include <algorithm>
#include <iterator>

#include "interposer/events/event_times.h"
#include "interposer/flow/flow.h"
#include "interposer/memory/graph_room.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/drain.h"
#include "interposer/session/hand_over.h"
#include "interposer/session/make_way.h"
#include "interposer/session/memory.h"
#include "os/linux_calls.h"

namespace nvs::interposer::session {
namespace {

constexpr std::int64_t kLetInWait_ns = 5'000'000;
constexpr std::int64_t kQuickWait_ns = 100'000;
// What comes in then is as brief as this, or a window is not let go for a while.
constexpr std::int64_t kBrief_ns = 300'000;
constexpr std::int64_t kKeep_ns = 1'000'000'000;
// A drain that takes longer than this gives others time to get ready.
constexpr std::int64_t kWorthTelling_ns = 150'000;

void set_terms(int gpu, const wire::Open& message) {
  Gpu& mine = gpus[gpu];
  const bool was_bounded = mine.bounded;
  mine.bounded = (message.flags & wire::kBounded) != 0 && message.queue_bound_ns != 0;
  mine.awaited = (message.flags & wire::kAwaited) != 0;
  mine.capped = (message.flags & wire::kCapped) != 0;
  mine.marked = mine.marked && mine.bounded;
  mine.bounded_alone_ns = 0;
  flow::set_bound(gpu, mine.bounded ? static_cast<std::int64_t>(message.queue_bound_ns) : 0);
  set_gate_bounded();
  // What was worked before is not known: it stays as it was billed.
  if (mine.bounded && !was_bounded) begin_bill(gpu, mine.account.is_billed());
  mine.owes_busy = !mine.bounded && !mine.account.is_billed();
  tell_busy(gpu);
}

// Asks the driver, so the lock must not be held.
flow::Look look_at(int gpu) {
  flow::Look look{};
  if (!flow::look(gpu, look)) look = {};
  return look;
}

// A full socket takes nothing, and without the answer the daemon would give us up: what it did not
// get it is told again.
void remember(int gpu, Answer answer, connection::Outcome outcome) {
  gpus[gpu].untold = outcome == connection::Outcome::again ? answer : Answer::none;
  gpus[gpu].untold_grant = gpus[gpu].grant;
}

void send_drained(int gpu, std::int64_t quiet_ns) {
  auto message = about<wire::Drained>(gpu);
  message.waiting = wanted[gpu].load() ? 1 : 0;
  message.quiet_ns = static_cast<wire::u64>(quiet_ns);
  remember(gpu, Answer::drained, connection::send(message));
}

void tell_refused(int gpu) {
  remember(gpu, Answer::refused, connection::send(about<wire::Refused>(gpu)));
}

// What the daemon has said of memory since it was told that we are done waited until we are.
void memory_may_move() {
  const os::FutexGuard guard(swap::lock);
  swap::all_changed();
}

// Memory of some GPU waits for others to stand still.
bool is_way_awaited() {
  return std::any_of(std::begin(gpus), std::end(gpus),
                     [](const Gpu& one) { return one.makes_way_since_ns != 0; });
}

// The gate was closed while nothing seemed to run. If that is certain, no thread and no call of the
// driver is needed.
void finish_quickly(int gpu) {
  const bool outside = gate::wait_until_outside(kQuickWait_ns);
  const flow::Look look = outside ? look_at(gpu) : flow::Look{};
  // A client that is asked to close while it is idle needs no thread for it, unless there is
  // something else to be done that takes long.
  const bool done = look.done && look.certain && !memory::graphs::needs_trim(gpu);
  if (done) swap::make_room_if_above(gpu);
  const os::FutexGuard guard(lock);
  if (gpus[gpu].phase != Phase::draining) return;  // a fault was found
  const bool is_told = gpus[gpu].drain.handed_over;
  if (!done) {
    begin_drain(gpu, 0);
    gpus[gpu].drain.handed_over = is_told;
    if (is_told && look.remaining_ns > kBrief_ns) gpus[gpu].keeps_until_ns = clock_ns() + kKeep_ns;
    return;
  }
  note_closed(gpu);
  swap::stands_still(gpu);
  if (!is_told) tell_drained(gpu, look);
  if (is_told || is_way_awaited()) memory_may_move();
}

// A window without memory that it can reach. Said in this order: the daemon knows then that it
// is of no use before that is there, on whichever GPU.
void want_memory_first(int gpu) {
  tell_holds(gpu);
  if (wanted[gpu].load()) want_owners(gpu);
  tell_drained(gpu);
}

// One that nothing can be done with.
void send_back(int gpu, std::uint64_t grant) {
  gpus[gpu].grant = grant;
  tell_drained(gpu);
}

}  // namespace

void tell_drained(int gpu, const flow::Look& look) {
  const WorkSight sight{true, look.quiet_ns, flow::paused_ns(gpu), look.certain};
  const std::int64_t now_ns = clock_ns();
  Gpu& mine = gpus[gpu];
  const WorkAccount::Word word = mine.account.next(now_ns, sight);
  if (word.due && !word.idle) tell_work(gpu, word);
  const std::int64_t quiet_ns = word.idle ? word.span_ns : 0;
  mine.account.told({true, true, quiet_ns}, now_ns, sight);
  mine.untold_quiet_ns = quiet_ns;
  mine.untold_since_ns = now_ns;
  send_drained(gpu, quiet_ns);
}

void begin_drain(int gpu, std::int64_t expected_ns) {
  Gpu& mine = gpus[gpu];
  const std::int64_t now_ns = clock_ns();
  mine.drain = {};
  mine.drain.progress_ns = now_ns;
  mine.drain.looked_ns = now_ns;
  mine.drain.told_ns = now_ns;
  mine.drain.let_in = gate::let_in_so_far(gpu);
  mine.drain.expected_ns = expected_ns;
  mine.drain.before.begin(now_ns, expected_ns);
  mine.phase = Phase::draining;
  events::times().end_wait(gpu);  // threads that still wait may have begun one since others came in
  mine.drain.job = drain::begin(gpu);
  if (expected_ns < kWorthTelling_ns) return;
  auto message = about<wire::Draining>(gpu);
  message.remaining_ns = static_cast<wire::u64>(expected_ns);
  connection::send(message);
}

bool is_handed_over(int gpu) {
  return gpus[gpu].phase == Phase::draining && gpus[gpu].drain.handed_over;
}

void hand_over_window(int gpu) {
  gpus[gpu].drain.handed_over = true;
  tell_drained(gpu);
}

void open_window(const wire::Open& message) {
  const auto gpu = static_cast<int>(message.ordinal);
  const os::FutexGuard guard(lock);
  Gpu& mine = gpus[gpu];
  if (mine.phase == Phase::unused || mine.phase == Phase::free) return;
  // New terms for a window that was given back meanwhile: the daemon takes it for closed.
  const bool is_given_back = mine.phase == Phase::closed || is_handed_over(gpu);
  if (is_given_back && mine.grant == message.grant && message.grant != 0) return;
  if (mine.phase == Phase::faulted) return send_back(gpu, message.grant);
  const bool is_new = mine.grant != message.grant || mine.phase != Phase::open;
  mine.grant = message.grant;
  mine.opens_alone = false;
  // Words that crossed: the daemon does not know yet that memory is away.
  if (mine.phase == Phase::closed && !begin_window(gpu)) return want_memory_first(gpu);
  if (is_new) {
    if (mine.phase == Phase::draining) drain::cancel(gpu);
    mine.phase = Phase::open;
    // The daemon takes whoever did not ask for idle.
    begin_bill(gpu, wanted[gpu].load());
    mine.opened_ns = clock_ns();
    mine.ready_ns = 0;
    wanted[gpu].store(false);
    flow::window_opened(gpu, (message.flags & wire::kTookOver) != 0);
  }
  set_terms(gpu, message);
  open_gate(gpu);
}

void close_window(const wire::Close& message) {
  const auto gpu = static_cast<int>(message.ordinal);
  const flow::Look look = look_at(gpu);
  {
    const os::FutexGuard guard(lock);
    Gpu& mine = gpus[gpu];
    const bool is_ours = mine.grant == message.grant || mine.grant == 0;
    const bool closed = mine.phase == Phase::closed || mine.phase == Phase::faulted;
    mine.drain.makes_way = false;  // from now on it is asked for
    if ((!closed && mine.phase != Phase::open) || !is_ours) return;
    mine.grant = message.grant;
    if (closed) return tell_drained(gpu);
    while (!gate::begin_close(gpu)) {
    }
    if (!look.done || !look.certain) return begin_drain(gpu, look.remaining_ns);
    mine.phase = Phase::draining;
    mine.drain = {};
  }
  finish_quickly(gpu);
}

void give_up_window(int gpu) {
  {
    const os::FutexGuard guard(lock);
    Gpu& mine = gpus[gpu];
    if (mine.phase != Phase::open) return;
    while (!gate::begin_close(gpu)) {
    }
    mine.phase = Phase::draining;
    mine.drain = {};
  }
  finish_quickly(gpu);
}

bool let_go_window(int gpu, const flow::Look& look) {
  const os::FutexGuard guard(lock);
  Gpu& mine = gpus[gpu];
  if (mine.phase != Phase::open) return false;
  mine.phase = Phase::draining;
  mine.drain = {};
  mine.drain.handed_over = true;
  tell_drained(gpu, look);
  return true;
}

void close_let_go(int gpu, std::int64_t after_ns) {
  const std::int64_t closes_ns = clock_ns() + after_ns;
  while (clock_ns() < closes_ns) os::relax();
  {
    const os::FutexGuard guard(lock);
    if (!is_handed_over(gpu)) return;  // a fault was found
    while (!gate::begin_close(gpu)) {
    }
  }
  finish_quickly(gpu);
}

void get_ready(const wire::GetReady& message) {
  const os::FutexGuard guard(lock);
  Gpu& mine = gpus[message.ordinal];
  if (mine.phase != Phase::closed && mine.phase != Phase::draining) return;
  mine.ready_ns = clock_ns() + static_cast<std::int64_t>(message.in_ns);
  // Whoever drains hears this if its next window comes soon; if somebody was let in since it had
  // drained, it only says that a window comes.
  mine.drain.returns = mine.phase == Phase::draining && !mine.drain.lets_in;
}

// One that is closed for good belongs to a tenant whose other clients cannot drain without it.
void let_in(const wire::LetIn& message) {
  const auto gpu = static_cast<int>(message.ordinal);
  const os::FutexGuard guard(lock);
  Gpu& mine = gpus[gpu];
  if (mine.phase == Phase::faulted) return send_back(gpu, message.grant);
  const bool closed = mine.phase == Phase::closed || is_handed_over(gpu);
  // A newer grant than that of the drain under way: it was let in before, and is so again.
  if (!closed && (mine.phase != Phase::draining || mine.grant > message.grant)) return;
  // It has drained meanwhile, and what comes in now might wait for others that have too.
  if (closed && mine.grant == message.grant) return;
  // One of ours has all others wait for a moment. The daemon will hear again that nothing moves.
  if ((held & (1U << gpu)) != 0) return;
  mine.grant = message.grant;
  // What comes in may need memory that is away.
  if (closed && !begin_window(gpu)) return want_memory_first(gpu);
  // Those who still wait then say so again.
  wanted[gpu].store(false);
  if (closed) {
    drain::cancel(gpu);  // of a drain that was handed over: it would take the permit back
    mine.phase = Phase::draining;
    mine.drain = {};
    mine.drain.let_in = gate::let_in_so_far(gpu);
    mine.drain.waits_until_ns = clock_ns() + kLetInWait_ns;
  }
  mine.drain.lets_in = true;
  mine.drain.returns = false;
  events::times().end_wait(gpu);
  gate::let_one_in(gpu);
}

// The drain takes unused permits back, so it must not come first.
bool is_before_drain(int gpu, std::int64_t now_ns) {
  const DrainState& drain = gpus[gpu].drain;
  if (drain.waits_until_ns == 0) return false;
  if (gate::let_in_so_far(gpu) == drain.let_in && now_ns < drain.waits_until_ns) return true;
  begin_drain(gpu, 0);
  gpus[gpu].drain.lets_in = true;
  return false;
}

void gpu_known(const wire::GpuKnown& message) {
  const auto gpu = static_cast<int>(message.ordinal);
  memory_known(gpu, message.known != 0);
  const os::FutexGuard guard(lock);
  if (message.known != 0 || gpus[gpu].phase == Phase::unused) return;
  gpus[gpu].unserved = true;
  open_alone(gpu);
  lift_bound(gpu);
}

void set_paused(const wire::Pause& message) {
  const os::FutexGuard guard(lock);
  paused = message.paused != 0;
}

void refuse_to_close(int gpu) {
  drain::cancel(gpu);
  if (gpus[gpu].drain.makes_way) gpus[gpu].keeps_way_until_ns = clock_ns() + kKeepsWay_ns;
  gpus[gpu].phase = Phase::open;
  gpus[gpu].opened_ns = clock_ns();
  begin_bill(gpu, false);  // nobody asks
  wanted[gpu].store(false);
  flow::lose_track(gpu);  // the drain may be about to say that all is done
  open_gate(gpu);
  tell_refused(gpu);
}

bool tell_untold(int gpu) {
  Gpu& mine = gpus[gpu];
  if (mine.untold == Answer::none) return true;
  const bool drained = mine.untold == Answer::drained;
  const bool is_closed =
      mine.phase == Phase::closed || mine.phase == Phase::faulted || is_handed_over(gpu);
  const bool is_so = drained ? is_closed : mine.phase == Phase::open;
  if (!is_so || mine.grant != mine.untold_grant) {
    mine.untold = Answer::none;
  } else if (drained) {
    const std::int64_t since_ns = clock_ns() - mine.untold_since_ns;  // billed as well
    send_drained(gpu, std::min<std::int64_t>(mine.untold_quiet_ns + since_ns, wire::kLongest_ns));
  } else {
    tell_refused(gpu);
  }
  return mine.untold == Answer::none;
}

}  // namespace nvs::interposer::session

void nvs::interposer::drain::impossible(int gpu, std::uint32_t job) {
  using namespace nvs::interposer::session;
  const os::FutexGuard guard(session::lock);
  if (gpus[gpu].phase != Phase::draining || gpus[gpu].drain.job != job) return;
  if (!gpus[gpu].drain.handed_over) return refuse_to_close(gpu);
  // What was handed over cannot be refused: the gate stays closed until the next window.
  drain::cancel(gpu);
}

// On the GPU's own thread, which spares the daemon one more thread to wait for.
bool nvs::interposer::drain::completed(int gpu, std::uint32_t job, std::uint32_t let_in,
                                       Certainty certainty) {
  using namespace nvs::interposer::session;
  const os::FutexGuard guard(session::lock);
  Gpu& mine = gpus[gpu];
  if (mine.phase != Phase::draining || mine.drain.job != job) return true;
  if (gate::may_let_in(gpu) || gate::let_in_so_far(gpu) != let_in) return false;
  const bool is_told = mine.drain.handed_over;
  note_closed(gpu);
  mine.unsettled = certainty == Certainty::marks;
  if (!mine.unsettled) swap::stands_still(gpu);
  if (!is_told) tell_drained(gpu);
  if (is_told || is_way_awaited()) memory_may_move();
  return true;
}

bool nvs::interposer::drain::is_unsettled(int gpu, std::uint32_t job) {
  using namespace nvs::interposer::session;
  const os::FutexGuard guard(session::lock);
  const Gpu& mine = gpus[gpu];
  return mine.phase == Phase::closed && mine.drain.job == job && mine.unsettled;
}

void nvs::interposer::drain::settled(int gpu, std::uint32_t job) {
  using namespace nvs::interposer::session;
  const os::FutexGuard guard(session::lock);
  Gpu& mine = gpus[gpu];
  if (mine.phase != Phase::closed || mine.drain.job != job) return;
  mine.unsettled = false;
  swap::stands_still(gpu);
  memory_may_move();
}
