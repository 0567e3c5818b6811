// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/tend.h"

#include <algorithm>
#include <iterator>

#include "interposer/flow/flow.h"
#include "interposer/memory/fixed.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/captures.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/contexts.h"
#include "interposer/session/faults.h"
#include "interposer/session/hand_over.h"
#include "interposer/session/memory.h"
#include "interposer/session/windows.h"
#include "os/linux_calls.h"

namespace nvs::interposer::session {
namespace {

constexpr std::int64_t kMicrosecond_ns = 1'000;
constexpr std::int64_t kMillisecond_ns = 1'000'000;
constexpr std::int64_t kSecond_ns = 1'000'000'000;

// A pause of the program: handing the GPU over and back costs some 100 us, so a program that mostly
// comes back sooner is waited for that long; one that mostly sleeps is not.
constexpr std::int64_t kIdleAfter_ns = flow::kPause_ns;
// The same while nobody waits, and how often we look then.
constexpr std::int64_t kIdleUnwatched_ns = 5 * kMillisecond_ns;
// And while our time is counted: pauses between two looks are added up, but the end of our work is
// a guess in between.
constexpr std::int64_t kCappedLook_ns = kMillisecond_ns;
// A thread that was just woken up needs this to submit, at most; mostly it takes some 20 us. Where
// others have its processor it needs longer, and would come too late for each window: then each is
// kept for twice as long as the one before.
constexpr std::int64_t kTimeToBegin_ns = kMillisecond_ns;
constexpr int kMissedMax = 4;
constexpr std::int64_t kBeginLook_ns = 20 * kMicrosecond_ns;
// Guesses of what is queued may be wrong.
constexpr std::int64_t kSteadyLook_ns = kMillisecond_ns;
// The end of a short burst that somebody waits for is not slept through.
constexpr std::int64_t kSpinBelow_ns = 30 * kMicrosecond_ns;

// A window is expected to open at a certain time: how long before and after we stay awake for it.
// It takes 50 us to wake up, at times 250; the word of that time comes as late once more, and a
// drain may be told 55 us before its end (hand_over.h). It also often takes 200 us longer.
constexpr std::int64_t kAwakeBefore_ns = 500 * kMicrosecond_ns;
constexpr std::int64_t kAwakeAfter_ns = 500 * kMicrosecond_ns;

// A drain that has got nowhere for this long is stalled, then impossible; both beside what was
// queued when it began.
constexpr std::int64_t kStallAfter_ns = 20 * kMillisecond_ns;
constexpr std::int64_t kRefuseAfter_ns = 500 * kMillisecond_ns;
// So it is where only those get on who are let in meanwhile. That is longer, because what was
// queued may wait for many of them.
constexpr std::int64_t kRefuseLetInAfter_ns = 2 * kSecond_ns;
// The same where nobody waits for the GPU and the window ends because we have had our share: the
// kernels are probably long, and whoever is let in meanwhile has more than its share.
constexpr std::int64_t kCappedStallAfter_ns = 300 * kMillisecond_ns;
constexpr std::int64_t kCappedRefuseAfter_ns = 2 * kSecond_ns;
// What was queued without a bound has no marks, and nobody sees it get on. Whoever is let in by
// mistake makes the queue longer, so that is done ever more seldom; but often enough that nothing
// is refused for want of them.
constexpr int kStallsUnseen = 4;
static_assert(kStallAfter_ns << kStallsUnseen < kRefuseAfter_ns);
// We look every few milliseconds, so that a process between whose looks this goes by was not run.
constexpr std::int64_t kStoodStill_ns = 50 * kMillisecond_ns;

// How long the bound of a queue outlives the daemon.
constexpr std::int64_t kBoundedAlone_ns = 10 * kSecond_ns;

constexpr std::int64_t kPingEvery_ns = kSecond_ns;
constexpr std::int64_t kSilenceMax_ns = 5 * kSecond_ns;

constinit std::int64_t last_ping_ns = 0;
constinit std::int64_t unanswered_since_ns = 0;  // 0: every ping was answered
constinit std::int64_t last_usage_ns = 0;
constinit std::int64_t last_holds_ns = 0;
// What the daemon does not wait for is told as often as that.
constexpr std::int64_t kHoldsEvery_ns = 100 * kMillisecond_ns;

// How soon something that did not fit into the socket is said again.
constexpr std::int64_t kTellAgain_ns = 5 * kMillisecond_ns;

template <class Message>
bool tell(int gpu) {
  return connection::send(about<Message>(gpu)) != connection::Outcome::again;
}

// The window is open and the queue bounded. Whether the program has paused.
struct Pause {
  bool idle;
  bool begun;  // it has submitted something in this window
  std::int64_t look_again_ns;
};

// Each look may meet the program where it submits. One that hardly ever pauses is let be until all
// that it has queued should be done.
std::int64_t look_again_in(const flow::Look& look) {
  if (look.sleeps_long) return look.look_again_ns <= kSpinBelow_ns ? 0 : look.look_again_ns;
  const std::int64_t queued_ns = std::min<std::int64_t>(look.remaining_ns, kSteadyLook_ns);
  return std::max<std::int64_t>(look.look_again_ns, queued_ns);
}

Pause pause_of(const Gpu& mine, std::int64_t now_ns, const flow::Look& look) {
  const std::int64_t open_ns = now_ns - mine.opened_ns;
  const bool has_begun = look.quiet_ns < open_ns;
  const std::int64_t unwatched_ns = mine.capped ? flow::kPause_ns : kIdleUnwatched_ns;
  const std::int64_t next_request_ns = patience_for(look.waits_ns).closes_ns;
  const std::int64_t begins_ns = kTimeToBegin_ns << std::min<int>(mine.missed, kMissedMax);
  const std::int64_t patience_ns = !has_begun         ? begins_ns
                                   : !mine.awaited    ? unwatched_ns
                                   : look.sleeps_long ? next_request_ns
                                                      : kIdleAfter_ns;
  const std::int64_t quiet_ns = std::min<std::int64_t>(look.quiet_ns, open_ns);
  if (look.done && quiet_ns >= patience_ns) return {true, has_begun, kIdleUnwatched_ns};
  if (!mine.awaited) return {false, has_begun, mine.capped ? kCappedLook_ns : kIdleUnwatched_ns};
  if (!has_begun) return {false, false, kBeginLook_ns};
  if (!look.done) return {false, true, look_again_in(look)};
  const std::int64_t left_ns = patience_ns - quiet_ns;
  return {false, true, left_ns <= next_request_ns ? 0 : left_ns};
}

// Where nobody waits the window stays; but it is not billed while we are idle. Where somebody does
// that word would end it, and the end of a window takes back what was billed too much.
void tell_pause(int gpu, std::int64_t now_ns, const WorkSight& sight) {
  constexpr int kWordsMax = 2;
  WorkAccount& account = gpus[gpu].account;
  for (int i = 0; i < kWordsMax; ++i) {
    const WorkAccount::Word word = account.next(now_ns, sight);
    if (!word.due || (word.idle && gpus[gpu].awaited) || !tell_work(gpu, word)) return;
    account.told(word, now_ns, sight);
  }
}

// A process that stood still has not seen the GPU stand still.
void leave_out_standstill(DrainState& drain, std::int64_t now_ns) {
  const std::int64_t since_ns = now_ns - drain.looked_ns;
  drain.looked_ns = now_ns;
  if (since_ns <= kStoodStill_ns) return;
  drain.progress_ns += since_ns;
  drain.before.leave_out(since_ns);
}

bool is_for_cap(const Gpu& mine) { return mine.capped && !mine.awaited; }

// Somebody was let in, which alone does not show that the GPU gets on.
int stalls_after_let_in(const Gpu& mine) {
  if (is_for_cap(mine)) return mine.drain.stalls;
  return mine.marked ? 0 : std::min(mine.drain.stalls, kStallsUnseen);
}

void note_progress(int gpu, std::int64_t now_ns, const flow::Look* look) {
  DrainState& drain = gpus[gpu].drain;
  const std::uint32_t let_in = gate::let_in_so_far(gpu);
  const bool less = look != nullptr && look->remaining_ns + kMillisecond_ns < drain.expected_ns;
  // What has completed also tells how long those will take that are left.
  const bool learnt = look != nullptr && look->completions != drain.completions;
  if (!less && !learnt && let_in == drain.let_in) return;
  if (less || learnt) drain.expected_ns = look->remaining_ns;
  if (learnt) drain.completions = look->completions;
  drain.let_in = let_in;
  drain.progress_ns = now_ns;
  drain.stalls = less || learnt ? 0 : stalls_after_let_in(gpus[gpu]);
}

// Time that is counted is counted to its end, and what a synchronisation cannot tell is not
// guessed.
bool may_guess(int gpu) {
  return !gpus[gpu].capped && contexts::knows_all(gpu) && !captures::is_any();
}

bool is_shared_out(const Gpu& one) {
  return one.phase != Phase::unused && one.phase != Phase::free;
}

// What runs may wait for a kernel on another GPU, or for one that stands at the gate: it does not
// end when it should, and others must hear of that.
bool may_hand_over(int gpu) {
  const DrainState& drain = gpus[gpu].drain;
  if (!drain.returns || drain.job == 0 || drain.stalls != 0 || gate::may_let_in(gpu)) return false;
  return std::count_if(std::begin(gpus), std::end(gpus), is_shared_out) == 1 && may_guess(gpu);
}

std::int64_t tend_drain(int gpu, std::int64_t now_ns, const flow::Look* look) {
  if (is_handed_over(gpu)) return kSecond_ns;
  if (is_before_drain(gpu, now_ns)) return kBeginLook_ns;
  DrainState& drain = gpus[gpu].drain;
  leave_out_standstill(drain, now_ns);
  note_progress(gpu, now_ns, look);
  if (!drain.lets_in) drain.before.begin(now_ns, drain.expected_ns);
  if (look != nullptr) drain.before.note(now_ns, *look);
  std::int64_t look_again_ns = 5 * kMillisecond_ns;
  if (may_hand_over(gpu)) {
    const HandOver next = look == nullptr ? HandOver{false, kBeginLook_ns}
                                          : hand_over(look->ends_in_ns, look->look_again_ns);
    if (next.is_due) {
      hand_over_window(gpu);
      return kSecond_ns;
    }
    look_again_ns = std::min(look_again_ns, next.look_again_ns);
  }
  const bool for_cap = is_for_cap(gpus[gpu]);
  const bool is_patient = for_cap || drain.makes_way;  // nobody else waits for it
  const std::int64_t stall_ns = for_cap ? kCappedStallAfter_ns : kStallAfter_ns;
  const std::int64_t stuck = stuck_ns(now_ns, drain.progress_ns, drain.expected_ns);
  const bool is_stuck = stuck >= (is_patient ? kCappedRefuseAfter_ns : kRefuseAfter_ns);
  if (is_stuck || drain.before.stuck_for_ns(now_ns) >= kRefuseLetInAfter_ns) {
    refuse_to_close(gpu);
    return kMillisecond_ns;
  }
  if (stuck >= stall_ns << drain.stalls) {
    if (!tell<wire::Stalled>(gpu)) return kTellAgain_ns;
    ++drain.stalls;
    drain.told_ns = now_ns;
  } else if (now_ns - drain.told_ns >= wire::kDrainingEvery_ns) {
    drain.told_ns = now_ns;
    tell<wire::Draining>(gpu);
  }
  return look_again_ns;
}

void tell_usage(std::int64_t now_ns) {
  if (now_ns - last_usage_ns < kSecond_ns) return;
  last_usage_ns = now_ns;
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (!is_shared_out(gpus[gpu]) || gpus[gpu].unserved) continue;
    memory_lacks(gpu);
    wire::Usage message;
    message.ordinal = static_cast<wire::u32>(gpu);
    message.memory_bytes = memory::allocated_on(gpu);
    if (message.memory_bytes == gpus[gpu].memory_told) continue;
    if (connection::send(message) == connection::Outcome::again) continue;
    gpus[gpu].memory_told = message.memory_bytes;
  }
}

// By threads at a gate, or by such that allocate and have to wait for room.
bool is_daemon_awaited() {
  const os::FutexGuard guard(swap::lock);
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    const bool is_gate = wanted[gpu].load() && gpus[gpu].phase == Phase::closed;
    if (is_gate || swap::rooms[gpu].asked != 0) return true;
  }
  return false;
}

// Asked only while somebody waits for the daemon's word.
void ping(std::int64_t now_ns) {
  if (now_ns - last_ping_ns < kPingEvery_ns || !is_daemon_awaited()) return;
  last_ping_ns = now_ns;
  if (unanswered_since_ns == 0) unanswered_since_ns = now_ns;
  wire::Ping message;
  message.number = static_cast<std::uint64_t>(now_ns);
  connection::send(message);
}

bool needs_look(int gpu) {
  const os::FutexGuard guard(lock);
  const Gpu& mine = gpus[gpu];
  return mine.phase == Phase::draining || (mine.phase == Phase::open && mine.bounded);
}

// What is to be done without the lock.
enum class Act : std::uint8_t { none, give_up, let_go };
struct Next {
  Act act;
  std::int64_t look_again_ns;
};

// With the lock held, and the window open.
Next tend_window(int gpu, std::int64_t now_ns, const flow::Look& look) {
  Gpu& mine = gpus[gpu];
  const Pause pause = pause_of(mine, now_ns, look);
  if (pause.begun) mine.missed = 0;
  if (pause.begun && may_let_go(gpu, now_ns, look)) return {Act::let_go, kMillisecond_ns};
  if (mine.awaited && pause.idle) {
    if (!pause.begun) ++mine.missed;
    return {Act::give_up, kMillisecond_ns};
  }
  const std::int64_t quiet_ns = std::min<std::int64_t>(look.quiet_ns, now_ns - mine.opened_ns);
  const WorkSight sight{pause.idle, quiet_ns, look.paused_ns, look.certain, look.busy_ns};
  if (pause.idle || pause.begun) tell_pause(gpu, now_ns, sight);
  return {Act::none, pause.look_again_ns};
}

Next tend_phase(int gpu, const flow::Look* look) {
  const os::FutexGuard guard(lock);
  const std::int64_t now_ns = clock_ns();
  const Gpu& mine = gpus[gpu];
  if (mine.phase == Phase::draining) return {Act::none, tend_drain(gpu, now_ns, look)};
  // Else somebody submits at this very moment.
  if (mine.phase == Phase::open && look != nullptr) return tend_window(gpu, now_ns, *look);
  return {Act::none, kBeginLook_ns};
}

// The marks are looked at without the lock, because that asks the driver.
std::int64_t tend_gpu(int gpu) {
  act_on_fault(gpu);
  if (!needs_look(gpu)) return kSecond_ns;
  flow::Look look{};
  const bool looked = flow::look(gpu, look);
  const Next next = tend_phase(gpu, looked ? &look : nullptr);
  if (next.act == Act::give_up) give_up_window(gpu);
  if (next.act == Act::let_go && let_go_window(gpu, look)) {
    close_let_go(gpu, patience_for(look.waits_ns).closes_ns);
  }
  return next.look_again_ns;
}

// Sleeps until shortly before the window will open, and then not at all until a while after.
std::int64_t tend_readiness(std::int64_t now_ns) {
  std::int64_t sleep_ns = kSecond_ns;
  for (Gpu& mine : gpus) {
    if (mine.ready_ns == 0) continue;
    const std::int64_t awake_from_ns = mine.ready_ns - kAwakeBefore_ns;
    if (now_ns < awake_from_ns) {
      sleep_ns = std::min<std::int64_t>(sleep_ns, awake_from_ns - now_ns);
      continue;
    }
    const std::int64_t awake_until_ns = mine.ready_ns + kAwakeAfter_ns;
    if (now_ns >= awake_until_ns) {
      mine.ready_ns = 0;
      continue;
    }
    if (mine.awake_until_ns != awake_until_ns) gate::get_ready(awake_until_ns);
    mine.awake_until_ns = awake_until_ns;
    sleep_ns = 0;
  }
  return sleep_ns;
}

}  // namespace

bool may_let_go(int gpu, std::int64_t now_ns, const flow::Look& look) {
  const Gpu& mine = gpus[gpu];
  const bool is_quiet = look.quiet_ns >= patience_for(look.waits_ns).lets_go_ns;
  const bool is_done = look.done && is_quiet && look.certain && look.mostly_sleeps;
  const bool is_held = (held & (1U << gpu)) != 0;
  return is_done && mine.awaited && !is_held && now_ns >= mine.keeps_until_ns && may_guess(gpu);
}

std::int64_t tend() {
  std::int64_t sleep_ns = kSecond_ns;
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu)
    sleep_ns = std::min<std::int64_t>(sleep_ns, tend_gpu(gpu));
  const os::FutexGuard guard(lock);
  const std::int64_t now_ns = clock_ns();
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (!tell_untold(gpu) || !tell_busy(gpu))
      sleep_ns = std::min<std::int64_t>(sleep_ns, kTellAgain_ns);
  }
  tell_usage(now_ns);
  if (now_ns - last_holds_ns >= kHoldsEvery_ns) {
    last_holds_ns = now_ns;
    tell_all_holds();
  }
  ping(now_ns);
  lift_old_bounds(now_ns);
  open_complete();  // of a GPU that this daemon does not serve
  return std::min<std::int64_t>(sleep_ns, tend_readiness(now_ns));
}

void lift_old_bounds(std::int64_t now_ns) {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    const std::int64_t since_ns = gpus[gpu].bounded_alone_ns;
    if (since_ns != 0 && now_ns - since_ns >= kBoundedAlone_ns) lift_bound(gpu);
  }
}

void forget_daemon() {
  unanswered_since_ns = 0;
  last_ping_ns = 0;
  last_usage_ns = 0;
  last_holds_ns = 0;
  for (Gpu& mine : gpus) {
    mine.memory_told = 0;
    mine.untold = Answer::none;
    mine.owes_busy = false;
  }
}

void note_pong() { unanswered_since_ns = 0; }

bool is_daemon_silent() {
  const bool silent = unanswered_since_ns != 0 && clock_ns() - unanswered_since_ns > kSilenceMax_ns;
  if (silent) unanswered_since_ns = 0;
  return silent;
}

}  // namespace nvs::interposer::session
