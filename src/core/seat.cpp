// SPDX-License-Identifier: Apache-2.0
#include "core/seat.h"

#include <algorithm>
#include <utility>

#include "core/books.h"
#include "core/gpu.h"

namespace nvs::core {

// Where there are no windows nobody is served before another, and whoever is left out of account
// takes nothing from the others' turn: only windows count as service.
// A gang keeps others off all its GPUs, whichever of them it works on.
bool Seat::earns() const {
  if (hold == Hold::none || !gpu->has_windows()) return false;
  return busy > 0 || in_gang;
}

void Seat::accrue(Instant now) {
  const Duration span = now - accrued;
  const Duration part = uncharged(now);
  if (busy > 0) bill.add(span);
  had += part;
  if (earns()) {
    service += scaled(span, tenant->weight);
  } else if (hold == Hold::closing) {
    held_up += span;
  }
  accrued = now;
  quota.shared_since = gpu->shared_at(now);
  if (quota.account) charge(part, now);
}

Service Seat::service_at(Instant now) const {
  if (!earns()) return service;
  return service + scaled(now - accrued, tenant->weight);
}

Duration Seat::uncharged(Instant now) const {
  return busy > 0 ? gpu->shared_at(now) - quota.shared_since : Duration{};
}

void Seat::charge(Duration span, Instant now) {
  quota.account->charge(span, gpu->quota.clock.at(now));
}

void Seat::correct_bill(Duration span, Instant now) {
  const std::uint32_t sharers = gpu->quota.working + (busy == 0 ? 1 : 0);
  const Duration part = gpu->has_windows() ? span : span / sharers;
  bill.add(span);
  had += part;
  if (quota.account) charge(part, now);
}

Duration Seat::burst_done(Instant now) const {
  const Duration unbilled = busy > 0 ? now - accrued : Duration{};
  return burst + (bill.used() - burst_counted) + unbilled;
}

// What a gang does on one GPU says nothing about how long it keeps others off.
std::optional<Duration> Seat::burst_left(Instant now) const {
  if (mean_burst == Duration{} || in_gang) return std::nullopt;
  const Duration done = burst_done(now);
  if (done > longest_burst()) return std::nullopt;  // it is another kind of burst
  return std::max(mean_burst - done, mean_burst / 4);
}

Instant Seat::burst_overdue(Instant now) const {
  return now + (longest_burst() - burst_done(now)) + Duration::from_ns(1);
}

void Seat::count_burst() {
  burst += bill.used() - burst_counted;
  burst_counted = bill.used();
}

void Seat::end_burst() {
  const Duration whole = std::exchange(burst, {});
  if (whole <= Duration{}) return;  // it was over before, or nothing was done
  const Duration counts = std::min(whole, kBurstMax);
  const bool first = mean_burst == Duration{};
  mean_burst = first ? counts : mean_burst + (counts - mean_burst) / 4;
  mean_burst = std::max(mean_burst, Duration::from_ns(1));
}

void Seat::count(const Gate& gate, int by) {
  const auto add = [by](std::uint32_t& to, bool counts) {
    if (counts) to += static_cast<std::uint32_t>(by);
  };
  using enum GateState;
  const bool at_work = gate.state != closed && gate.state != GateState::silent;
  add(this->closed, gate.state == closed);
  add(wanting, gate.state == closed && gate.wants);
  add(busy, at_work && !gate.idle);
  add(blocking, gate.state == open || gate.state == closing);
  add(beside, gate.state == loose || gate.state == late);
  add(this->silent, gate.state == GateState::silent);
  add(stalled, gate.stalled);
}

std::size_t class_of(const Seat& seat) { return static_cast<std::size_t>(seat.tenant->priority); }

}  // namespace nvs::core
