// SPDX-License-Identifier: Apache-2.0
// The caps on one GPU: the clock by which they earn, and who of those that have one has to be
// looked at when; each one's part of the time; and a seat's side of it. Who has no cap costs
// nothing here but a count and a sum.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/ids.h"
#include "core/quota.h"

namespace nvs::core {

struct Seat;

struct SeatQuota {
  std::optional<Account> account;  // nothing: it has no cap
  bool throttled = false;          // it ran out, and has not saved a quantum since
  bool blocks = false;             // and wants more: its gang waits for it on all GPUs
  bool waits = false;              // wants, and may not because of that or of another of its gang
  Instant waits_since;
  Duration waited;  // all in all
  Duration back;    // what the clock shows then, as it stands in GpuQuota::returning
  bool returning = false;

  bool active = false;   // has work, or waits for memory
  Instant active_since;  // but for pauses of less than kBurstPause
  Instant ended;         // when it last was
  bool counts = false;   // its cap is in the sum
  Duration kept;         // what it had saved when it last became inactive
  Instant lapses;        // as it stands in GpuQuota::lapsing, while it is inactive and counts

  bool works = false;     // as it stands in GpuQuota: has gates with work, whatever their state
  Duration shared_since;  // what GpuQuota::shared showed when its bill was last brought up to date
};

struct GpuQuota {
  QuotaClock clock;
  std::uint32_t capped = 0;                           // seats with an account
  std::uint32_t working = 0;                          // seats with work
  std::vector<Seat*> charged;                         // those with work and an account
  std::set<std::pair<Duration, TenantId>> returning;  // throttled, by the clock
  std::set<std::pair<Instant, TenantId>> lapsing;     // idle, by when they do not count any more

  Duration period;  // by which those that return were told when

  // What one that has had work all the time has had: all of it, and where there are no windows its
  // part, if the driver slices evenly.
  Duration shared;
  Duration shared_rest;  // not divided yet: less than there were to divide it
};

}  // namespace nvs::core
