// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/make_way.h"

#include <bit>

#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/presence.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/captures.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/windows.h"

namespace nvs::interposer::session {
namespace {

// What stands in the way in itself is not waited for longer than the daemon waits for a move.
constexpr std::int64_t kPatience_ns = 1'800'000'000;

// Whoever moves memory looks at least so often, and does not while there is nothing to move.
constexpr std::int64_t kLook_ns = 300'000'000;

// A window of the daemon's, and no capture, however long that has gone on: not all work can be
// waited for beside one, so that nothing would come of closing, and it may not get to its end with
// the gate closed.
bool may_close(const Gpu& one) {
  return connection::is_connected() && one.grant != 0 && !captures::is_any();
}

void close_unasked(int gpu) {
  while (!gate::begin_close(gpu)) {
  }
  begin_drain(gpu);
  gpus[gpu].drain.makes_way = true;
}

Way make_stand_still(int gpu, int owner, std::int64_t now_ns) {
  const Gpu& one = gpus[gpu];
  switch (one.phase) {
    case Phase::unused:
    case Phase::faulted:
      return Way::clear;
    case Phase::free:
      return Way::blocked;  // nobody would open it again
    case Phase::draining:
      return Way::coming;
    case Phase::closed:
      // What was given to it before a capture may still run.
      return swap::has_crossed(owner, gpu) || one.unsettled ? Way::coming : Way::clear;
    case Phase::open:
      if (now_ns < one.keeps_way_until_ns) return Way::blocked;
      if (may_close(one)) close_unasked(gpu);
      return Way::coming;
  }
  return Way::clear;
}

}  // namespace

Way make_way(int owner) {
  const os::FutexGuard guard(lock);
  Gpu& mine = gpus[owner];
  if (mine.phase != Phase::closed) {
    mine.makes_way_since_ns = 0;
    return Way::clear;
  }
  const std::int64_t now_ns = clock_ns();
  Way way = swap::is_kept() || mine.unsettled ? Way::coming : Way::clear;
  for (std::uint32_t left = swap::touched_by(owner); left != 0; left &= left - 1) {
    const Way one = make_stand_still(std::countr_zero(left), owner, now_ns);
    if (one > way) way = one;
  }
  // The last time it was clear in the end, or of no use any more.
  const bool is_anew = now_ns - mine.way_looked_ns > kLook_ns;
  mine.way_looked_ns = now_ns;
  if (mine.makes_way_since_ns == 0 || is_anew) mine.makes_way_since_ns = now_ns;
  const bool is_over = now_ns - mine.makes_way_since_ns >= kPatience_ns;
  if (way == Way::coming && is_over) way = Way::blocked;
  if (way != Way::coming) mine.makes_way_since_ns = 0;
  return way;
}

}  // namespace nvs::interposer::session
