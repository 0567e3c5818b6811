// SPDX-License-Identifier: Apache-2.0
#include "core/quota.h"

#include <algorithm>

namespace nvs::core {
namespace {

// Far enough, and can be added to any time of day.
constexpr Wide kFar = std::int64_t{1} << 61;

Wide rounded_up(Wide a, Wide b) { return a > 0 ? (a + b - 1) / b : a / b; }
Wide rounded_down(Wide a, Wide b) { return a < 0 ? (a - b + 1) / b : a / b; }

Duration span_from(Wide ns) {
  return Duration::from_ns(static_cast<std::int64_t>(std::clamp(ns, -kFar, kFar)));
}

}  // namespace

Wide QuotaClock::slowness() const { return std::max<std::int64_t>(sum_, kWholeGpu); }

Duration QuotaClock::at(Instant now) const {
  const Wide passed = Wide{(now - changed_).ns()} * kWholeGpu + rest_;
  return shown_ + span_from(passed / slowness());
}

Instant QuotaClock::when(Duration shown) const {
  const Wide missing = Wide{(shown - shown_).ns()} * slowness() - rest_;
  return changed_ + span_from(rounded_up(missing, kWholeGpu));
}

Share QuotaClock::in_force(Share cap, bool counts) const {
  const std::int64_t sum = sum_ + (counts ? 0 : cap);
  return static_cast<Share>(Wide{cap} * kWholeGpu / std::max<std::int64_t>(sum, kWholeGpu));
}

void QuotaClock::change(std::int64_t by, Instant now) {
  const Wide passed = Wide{(now - changed_).ns()} * kWholeGpu + rest_;
  const Wide before = slowness();
  shown_ += span_from(passed / before);
  changed_ = now;
  sum_ += by;
  rest_ = passed % before * slowness() / before;
}

Account::Account(Share cap, Duration credit, Duration at)
    : cap_(cap), level_(wide(credit)), since_(at) {}

void Account::move_to(Duration at) {
  level_ = level_at(at);
  since_ = at;
}

void Account::set_cap(Share cap, Duration at) {
  move_to(at);
  cap_ = cap;
}

void Account::charge(Duration span, Duration at) {
  level_ -= wide(span);
  const Wide below = -wide(kQuotaDebtMax) - level_at(at);
  if (below > 0) level_ += below;
}

void Account::keep_at_most(Duration credit, Duration at) {
  const Wide above = level_at(at) - wide(credit);
  if (above > 0) level_ -= above;
}

Duration Account::credit(Duration at) const {
  return span_from(rounded_down(level_at(at), kWholeGpu));
}

Duration Account::when(Duration credit) const {
  return since_ + span_from(rounded_up(wide(credit) - level_, cap_));
}

std::optional<Duration> Account::lasts(Duration at, const QuotaClock& clock,
                                       std::uint32_t sharers) const {
  // It loses its part of the time and earns by the clock: both in millionths, over a common
  // divisor.
  const Wide slowness = clock.slowness();
  const Wide loss = slowness - Wide{cap_} * sharers;
  if (loss <= 0) return std::nullopt;
  const Wide level = std::max<Wide>(level_at(at), 0);
  return span_from(rounded_up(level * sharers * slowness, loss * kWholeGpu));
}

}  // namespace nvs::core
