// SPDX-License-Identifier: Apache-2.0
#include "random.h"

#include <bit>

namespace nvs::sim {
namespace {

// The step of splitmix64: it turns seeds that differ in one bit into states that differ in half.
std::uint64_t scramble(std::uint64_t& seed) {
  seed += 0x9e3779b97f4a7c15;
  std::uint64_t value = seed;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = scramble(seed);
}

// xoshiro256**.
std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

// The remainder favours small numbers by less than one in 2^40 for any range used here.
std::uint64_t Random::below(std::uint64_t end) { return next() % end; }

std::int64_t Random::between(std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most - least) + 1));
}

Duration Random::between(Duration least, Duration most) {
  return Duration::from_ns(between(least.ns(), most.ns()));
}

// Von Neumann's way, which compares and never takes a logarithm: the whole part counts the runs of
// falling numbers of even length that come before the first of odd length, whose head is the rest.
Duration Random::around(Duration mean) {
  for (std::int64_t whole = 0;; ++whole) {
    const std::uint64_t head = next() >> 1;
    std::uint64_t last = head;
    bool odd = true;
    for (std::uint64_t draw = next() >> 1; draw < last; draw = next() >> 1) {
      last = draw;
      odd = !odd;
    }
    if (!odd) continue;
    const auto rest = static_cast<std::int64_t>(head >> 43);  // 20 bits
    return Duration::from_ns(mean.ns() * whole + ((mean.ns() * rest) >> 20));
  }
}

}  // namespace nvs::sim
