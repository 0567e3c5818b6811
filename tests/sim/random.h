// SPDX-License-Identifier: Apache-2.0
// Chance that can be replayed: the same seed gives the same numbers on every machine and compiler,
// which the standard library's distributions do not promise. Integers only, no floating point.
#pragma once

#include <array>
#include <cstdint>

#include "base/instant.h"

namespace nvs::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();
  // At least 0 and less than `end`, which is not 0.
  std::uint64_t below(std::uint64_t end);
  // From `least` to `most`, both included.
  std::int64_t between(std::int64_t least, std::int64_t most);
  Duration between(Duration least, Duration most);
  // True in so many of 100 cases.
  bool percent(int of_100) { return below(100) < static_cast<std::uint64_t>(of_100); }
  // Exponentially distributed, as the times between independent requests are. Up to two hours.
  Duration around(Duration mean);

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace nvs::sim
