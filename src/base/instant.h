// SPDX-License-Identifier: Apache-2.0
// Points in time and spans between them, as types: a deadline cannot be mixed up with a duration or
// a plain number. Nothing here reads a clock; whoever owns one makes the instants.
#pragma once

#include <compare>
#include <cstdint>

namespace nvs {

class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration from_ns(std::int64_t ns) { return Duration{ns}; }
  static constexpr Duration from_us(std::int64_t us) { return Duration{us * 1'000}; }
  static constexpr Duration from_ms(std::int64_t ms) { return Duration{ms * 1'000'000}; }
  static constexpr Duration from_s(std::int64_t s) { return Duration{s * 1'000'000'000}; }

  constexpr std::int64_t ns() const { return ns_; }
  constexpr double seconds() const { return static_cast<double>(ns_) / 1e9; }

  constexpr Duration operator-() const { return Duration{-ns_}; }
  constexpr Duration& operator+=(Duration other) {
    ns_ += other.ns_;
    return *this;
  }
  constexpr Duration& operator-=(Duration other) {
    ns_ -= other.ns_;
    return *this;
  }
  friend constexpr Duration operator+(Duration a, Duration b) { return Duration{a.ns_ + b.ns_}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return Duration{a.ns_ - b.ns_}; }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration{a.ns_ * n}; }
  friend constexpr Duration operator/(Duration a, std::int64_t n) { return Duration{a.ns_ / n}; }
  friend constexpr auto operator<=>(Duration, Duration) = default;

 private:
  explicit constexpr Duration(std::int64_t ns) : ns_(ns) {}
  std::int64_t ns_ = 0;
};

class Instant {
 public:
  constexpr Instant() = default;
  // Nanoseconds of a clock that never goes back; where it starts means nothing.
  static constexpr Instant from_ns(std::int64_t ns) { return Instant{ns}; }
  constexpr std::int64_t ns() const { return ns_; }

  constexpr Instant& operator+=(Duration span) {
    ns_ += span.ns();
    return *this;
  }
  friend constexpr Instant operator+(Instant at, Duration span) {
    return Instant{at.ns_ + span.ns()};
  }
  friend constexpr Instant operator-(Instant at, Duration span) {
    return Instant{at.ns_ - span.ns()};
  }
  friend constexpr Duration operator-(Instant a, Instant b) {
    return Duration::from_ns(a.ns_ - b.ns_);
  }
  friend constexpr auto operator<=>(Instant, Instant) = default;

 private:
  explicit constexpr Instant(std::int64_t ns) : ns_(ns) {}
  std::int64_t ns_ = 0;
};

}  // namespace nvs
