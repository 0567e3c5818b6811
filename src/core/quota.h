// SPDX-License-Identifier: Apache-2.0
// Quota: what a tenant has had of a GPU's time, and what it may still have if it has a cap
// (ADR-0020). Nothing is rounded on the way, so that no error adds up: a share of a span is kept in
// millionths of nanoseconds.
#pragma once

#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "core/policy.h"

namespace nvs::core {

class Bill {
 public:
  void add(Duration span) { used_ += span; }  // negative: it was too much
  Duration used() const { return used_; }

 private:
  Duration used_;
};

// Hours in millionths of nanoseconds do not fit into 64 bits.
__extension__ typedef __int128 Wide;

// The clock by which caps earn: while those that count add up to more than the GPU it runs slower
// by as much. So all of them are scaled at once, however many there are.
class QuotaClock {
 public:
  void add(Share cap, Instant now) { change(cap, now); }
  void remove(Share cap, Instant now) { change(-std::int64_t{cap}, now); }

  std::int64_t sum() const { return sum_; }
  // The sum, or the whole GPU if that is more: so many millionths of time pass for one of the
  // clock.
  Wide slowness() const;
  Duration at(Instant now) const;
  // When it will show this, if nothing changes.
  Instant when(Duration shown) const;
  // What is left of a cap that is in the sum, or that is not and would be.
  Share in_force(Share cap, bool counts) const;

 private:
  void change(std::int64_t by, Instant now);

  std::int64_t sum_ = 0;
  Instant changed_;
  Duration shown_;  // at that time
  Wide rest_ = 0;   // of a nanosecond, in parts of the slowness
};

// What a tenant with a cap has saved of a GPU's time. `at` is what the GPU's quota clock shows.
class Account {
 public:
  Account(Share cap, Duration credit, Duration at);

  Share cap() const { return cap_; }
  void set_cap(Share cap, Duration at);
  void charge(Duration span, Duration at);  // negative: it was too much
  void keep_at_most(Duration credit, Duration at);

  Duration credit(Duration at) const;
  // What the clock shows when it has this much.
  Duration when(Duration credit) const;
  // How long it will last for one of so many that have the GPU now; nothing: for ever.
  std::optional<Duration> lasts(Duration at, const QuotaClock& clock, std::uint32_t sharers) const;

 private:
  static Wide wide(Duration span) { return Wide{span.ns()} * kWholeGpu; }
  Wide level_at(Duration at) const { return level_ + Wide{(at - since_).ns()} * cap_; }
  void move_to(Duration at);

  Share cap_;
  Wide level_;
  Duration since_;  // from when on it earns
};

// The part of a span that a cap is.
constexpr Duration part_of(Duration span, Share cap) {
  return Duration::from_ns(span.ns() / kWholeGpu * cap + span.ns() % kWholeGpu * cap / kWholeGpu);
}

// What one that has had its share saves before it runs again. Alone it then has the GPU for its
// part of each period, in one piece. Near the whole GPU pieces would be crumbs: those periods are
// longer.
constexpr Duration quantum_of(Duration period, Share cap) {
  constexpr Share kRestLeast = kWholeGpu / 10;
  const Share rest = kWholeGpu - cap;
  return part_of(part_of(period, cap), rest > kRestLeast ? rest : kRestLeast);
}

}  // namespace nvs::core
