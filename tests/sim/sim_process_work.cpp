// SPDX-License-Identifier: Apache-2.0
// What a process submits, when it says so, and how it drains.
#include <algorithm>
#include <utility>

#include "sim_process.h"

namespace nvs::sim {
namespace {

// A drain is looked at so often; every second time the process says that it is alive.
constexpr Duration kDrainCheck = Duration::from_ms(25);
// A drain that got stuck is given up after so many looks.
constexpr int kDrainChecksMax = 20;
// How soon it says that it is idle when somebody waits, or its time is counted.
constexpr Duration kIdleAwaited = Duration::from_us(200);

}  // namespace

bool SimProcess::has_more(const Seat& seat) {
  if (seat.faulted) return false;
  return in_group(seat) ? group(seat).can_submit(seat.member) : seat.backlog > Duration{};
}

bool SimProcess::has_queued(Seat& seat) {
  if (in_group(seat)) return group(seat).is_under_way(seat.member);
  return seat.work.left() > Duration{};
}

// Brings what the daemon knows in line with what is so. Safe to call at any time.
void SimProcess::pump(Seat& seat) {
  if (!alive_) return;
  if (in_group(seat) && !has_queued(seat)) gpu(seat).set_left(seat.work, Duration{});
  if (std::exchange(seat.was_queued, has_queued(seat)) && !seat.was_queued) {
    seat.done = world_.time.now();
  }
  if (frozen_) return;
  if (seat.open) submit(seat);
  if (seat.closing && !has_queued(seat)) finish_drain(seat);
  if (!seat.open && !seat.closing && !seat.told_want && has_more(seat)) {
    seat.told_want = true;
    say(seat, Message::Kind::want);
  }
  if (!seat.open) return;
  seat.was_queued = has_queued(seat);
  if (seat.was_queued) {
    ++seat.idles;
    if (!seat.told_idle) {
      seat.unsure = false;
    } else if (!seat.late_busy) {
      watch_busy(seat);
    }
  } else if (!seat.told_idle || seat.unsure) {
    watch_idle(seat);
  }
}

void SimProcess::submit(Seat& seat) {
  if (in_group(seat)) {
    while (has_more(seat)) group(seat).submit(seat.member);
    if (has_queued(seat)) gpu(seat).set_left(seat.work, kForever);
  } else if (seat.backlog > Duration{}) {
    gpu(seat).add(seat.work, seat.backlog);
    seat.backlog = Duration{};
  }
}

// How much GPU time it has queued at most: as far ahead as it goes by itself, and if it must keep
// its queue short, what is left of that beyond the bound; and the rest of the kernel that runs.
Duration SimProcess::queue_limit(const Seat& seat) const {
  Duration limit = seat.load.depth;
  if (seat.terms.bounded()) {
    const Duration ran_down = limit - (world_.time.now() - seat.bounded_since);
    limit = std::min(limit, std::max(ran_down, seat.terms.queue_bound));
  }
  return limit + world_.random.between(Duration{}, seat.load.kernel);
}

// Work in the model is queued without limit. When a gate closes, or nobody is there to submit, what
// could not have been queued yet goes back.
void SimProcess::hold_back(Seat& seat) {
  if (in_group(seat) || seat.stuck) return;
  gpu(seat).settle();
  const Duration queued = std::min(seat.work.left(), queue_limit(seat));
  const Duration rest = seat.work.left() - queued;
  seat.backlog = seat.work.left() >= kForever / 2 ? kForever : seat.backlog + rest;
  gpu(seat).set_left(seat.work, queued);
}

void SimProcess::finish_drain(Seat& seat) {
  seat.closing = false;
  ++seat.drains;
  seat.told_want = has_more(seat);
  say(seat, Message::Kind::drained, seat.told_want, told_since(seat.done));
  if (seat.memory) seat.memory->pump();
}

void SimProcess::check_drain(Seat& seat, std::uint64_t drain) {
  world_.time.after(kDrainCheck, [this, &seat, drain] {
    if (seat.drains != drain || !alive_) return;
    check_drain(seat, drain);
    if (frozen_) return;
    const bool is_stuck = seat.stuck || in_group(seat);
    if (++seat.drain_checks % 2 == 0) say(seat, Message::Kind::draining);
    if (!is_stuck) return;
    if (seat.drain_checks < kDrainChecksMax) {
      // Threads at the gate may be what the work waits for.
      if (!seat.told_want && has_more(seat)) {
        seat.told_want = true;
        say(seat, Message::Kind::want);
      }
      say(seat, Message::Kind::stalled);
      return;
    }
    ++seat.drains;
    seat.closing = seat.told_want = false;
    seat.open = true;
    seat.terms = {};
    say(seat, Message::Kind::refused);
    pump(seat);
  });
}

void SimProcess::watch_idle(Seat& seat) {
  const bool soon = seat.terms.awaited || seat.terms.capped;
  const Duration span = soon ? std::min(kIdleAwaited, plan_.idle_after) : plan_.idle_after;
  world_.time.after(span, [this, &seat, watch = ++seat.idles] {
    if (seat.idles != watch || !alive_ || frozen_ || !seat.open) return;
    if (seat.told_idle && !seat.unsure) return;
    if (!has_queued(seat)) go_idle(seat);
  });
}

// While somebody waits it gives its window up at once; else it keeps it and says that it could.
void SimProcess::go_idle(Seat& seat) {
  seat.unsure = false;
  if (!seat.terms.awaited || seat.grant == core::GrantId{}) {
    seat.told_idle = true;
    say(seat, Message::Kind::idle, false, told_since(seat.done));
    return;
  }
  seat.open = seat.told_idle = false;
  seat.told_want = false;
  say(seat, Message::Kind::drained, false, told_since(seat.done));
  if (seat.memory) seat.memory->pump();
}

// It looks now and then whether it has work again, and may find that all of it is done by then.
void SimProcess::watch_busy(Seat& seat) {
  seat.busy_since = world_.time.now();
  if (plan_.busy_after == Duration{}) return say_busy(seat);
  seat.late_busy = true;
  world_.time.after(plan_.busy_after, [this, &seat, watch = ++seat.busies] {
    if (seat.busies != watch || !seat.late_busy || !alive_ || frozen_ || !seat.open) return;
    seat.late_busy = false;
    if (has_queued(seat)) say_busy(seat);
  });
}

void SimProcess::say_busy(Seat& seat) {
  seat.told_idle = seat.unsure = seat.late_busy = false;
  const bool at_once = plan_.busy_after == Duration{};
  say(seat, Message::Kind::busy, false, at_once ? Duration{} : told_since(seat.busy_since));
}

Duration SimProcess::told_since(Instant begin) {
  switch (plan_.tells) {
    case ProcessPlan::Tells::when:
      return {};
    case ProcessPlan::Tells::lies:
      return world_.random.between(Duration{}, Duration::from_s(1));
    case ProcessPlan::Tells::since:
      break;
  }
  return world_.time.now() - begin;
}

// All that was submitted is done.
void SimProcess::on_done(Seat& seat) {
  if (!alive_) return;
  pump(seat);
  if (seat.load.kind != Load::Kind::bursty || has_more(seat)) return;
  world_.time.after(world_.random.around(seat.load.think), [this, &seat, life = life_] {
    if (life == life_ && !has_queued(seat) && !has_more(seat)) arrive(seat);
  });
}

void SimProcess::begin_load(Seat& seat) {
  switch (seat.load.kind) {
    case Load::Kind::saturating:
      seat.backlog = kForever;
      break;
    case Load::Kind::bursty:
    case Load::Kind::requests:
    case Load::Kind::once:
      arrive(seat);
      return;
    case Load::Kind::collective:
      break;
  }
  pump(seat);
}

void SimProcess::arrive(Seat& seat) {
  seat.backlog += world_.random.around(seat.load.burst) + Duration::from_us(1);
  if (seat.load.kind == Load::Kind::requests) {
    world_.time.after(world_.random.around(seat.load.think), [this, &seat, life = life_] {
      if (life == life_) arrive(seat);
    });
  }
  pump(seat);
}

}  // namespace nvs::sim
