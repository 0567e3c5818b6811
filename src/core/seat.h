// SPDX-License-Identifier: Apache-2.0
// A tenant on a GPU: its place in the schedule, its gates there, and what it has had. The counts
// over its gates are kept up to date, so that no decision has to walk through them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "core/attendance.h"
#include "core/effect.h"
#include "core/gate.h"
#include "core/gpu_quota.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/quota.h"

namespace nvs::core {

struct Gpu;
struct Tenant;

// Virtual service: nanoseconds had, scaled by weight. Least served is served first.
using Service = std::int64_t;

// What a span counts for a tenant of this weight.
constexpr Service scaled(Duration span, std::uint32_t weight) {
  return span.ns() * 100 / static_cast<std::int64_t>(weight);
}

enum class Hold : std::uint8_t { none, open, closing };

// A tenant's memory on a GPU: the sums over its gates, and what was decided about it.
struct SeatMemory {
  bool told = false;           // it stands in the GPU's list
  std::uint64_t base = 0;      // can be moved, and must be there while it runs
  std::uint64_t asked = 0;     // more of it
  std::uint64_t promised = 0;  // more of it, which it may take by now
  std::uint64_t fixed = 0;     // cannot be moved, or does not move
  std::uint64_t away = 0;
  bool complete = true;     // all of it is there for certain
  bool stuck = false;       // something of it does not move
  bool impossible = false;  // it has more than it can ever be given
  bool in = true;           // all of it has a place
  bool grants_ask = true;   // and all that it asks for
  bool outside = false;     // it must not run: something is away, or has to go
  bool waits = false;       // for memory, with work to do
  Instant in_since;
  Instant waits_since;
  bool works = false;         // wants, runs or asks
  Instant rested;             // when that was last so
  std::uint32_t unmoved = 0;  // gates whose memory cannot be moved just now
  std::uint32_t seen = 0;     // what its gates were like when memory was last looked at
};

struct Seat {
  Tenant* tenant = nullptr;
  Gpu* gpu = nullptr;
  std::vector<Gate*> gates;  // in the order of their clients

  // Over the gates.
  std::uint32_t wanting = 0;  // closed, with threads at them
  std::uint32_t closed = 0;
  std::uint32_t busy = 0;      // with work, as far as they said
  std::uint32_t blocking = 0;  // open or closing: nobody else may run
  std::uint32_t beside = 0;    // open or closing, and left out of account: loose, late
  std::uint32_t silent = 0;
  std::uint32_t stalled = 0;  // whose drains get nowhere

  Hold hold = Hold::none;
  bool waiting = false;   // stands in the GPU's line
  bool as_gang = false;   // in which half of the line
  bool put_off = false;   // woke, and is heard again: may it take the GPU in mid-window?
  bool in_gang = false;   // its window ends together with the tenant's others
  bool by_floor = false;  // its window was owed to its class
  bool overdue = false;   // or to its gang, which had waited long enough
  bool woke = false;      // it takes the GPU from somebody in the middle of a window
  bool ended_busy = false;
  Duration held_up;           // others, while it was closed, without work that would have counted
  bool took_over = false;     // before its window another tenant had one
  bool active = false;        // as it was when gates of it last changed
  bool told_at_work = false;  // as the tenant's other seats last heard
  WindowTerms terms;
  Instant opened;
  Duration used_before;  // what was on its bill then
  Instant window_end;
  Instant ended;                      // when it last lost its window
  std::optional<Instant> kept_since;  // given up, and kept for it or its gang
  Instant waiting_since;
  Instant last_present;  // as it stands in Presence
  bool in_presence = false;
  bool present = false;  // holds, waits or runs beside
  Attendance attendance;
  bool attends = false;  // present, and not idle in a window of its own
  bool sleeper = false;  // counts as one among those present

  // How much it works from waking up to going idle; over several windows if need be. What counts is
  // what is billed, since a window that nobody wants is kept for a while after its work is done.
  Duration burst;          // so far
  Duration burst_counted;  // what was on its bill then
  Duration mean_burst;     // of late; zero: it has not gone idle yet
  Instant held_since;

  Service service = 0;
  Instant accrued;  // until when service and bill are right
  Bill bill;
  Duration had;  // what accounts are charged: of time in which several run at once its part
  Duration waited;
  Duration longest_wait;
  std::uint64_t windows = 0;
  SeatMemory memory;
  Duration memory_wait;  // time in which it waited for memory, all in all, without this time
  SeatQuota quota;
  Instant busy_changed;  // when the count of gates with work last did
  Instant idle_since;    // when that last fell to none

  // How much longer its burst will take; nothing if there is no telling.
  std::optional<Duration> burst_left(Instant now) const;
  // When there will be no telling any more, if it works on until then: it takes too long.
  Instant burst_overdue(Instant now) const;
  // What was billed outside windows is no part of it. The bill must be right.
  void leave_out_of_burst() { burst_counted = bill.used(); }
  void count_burst();
  // It went idle.
  void end_burst();

  // A burst that takes longer than this is none of the usual ones.
  Duration longest_burst() const { return mean_burst + mean_burst / 4; }

  // Brings service and bills up to `now`; to be called before anything they depend on changes.
  void accrue(Instant now);
  Service service_at(Instant now) const;
  // What it has had since then, which an account has yet to be charged.
  Duration uncharged(Instant now) const;
  // It has had so much more than was billed until now, or less if that is negative. Its last gate
  // has just gone idle, or its first one busy.
  void correct_bill(Duration span, Instant now);
  // Takes a gate out of the counts, and puts it back in after it was changed.
  void uncount(const Gate& gate) { count(gate, -1); }
  void recount(const Gate& gate) { count(gate, +1); }

 private:
  bool earns() const;
  Duration burst_done(Instant now) const;
  // Kept out of accrue(), which is called all the time and mostly without an account.
  [[gnu::noinline]] void charge(Duration span, Instant now);
  void count(const Gate& gate, int by);
};

// The priority of its tenant, as the place in an array by Priority.
std::size_t class_of(const Seat& seat);

}  // namespace nvs::core
