// SPDX-License-Identifier: Apache-2.0
// The number of a run, as NVSHARE_RUN has it. Who starts programs, the library in them and the
// daemon must read it alike: where one of them does not know it, each process of the run is a
// tenant of its own, with limits of its own.
#pragma once

#include <cstdint>

namespace nvs::wire {

inline constexpr int kRunDigitsMax = 16;

constexpr int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// 1 to 16 hexadecimal digits, large or small; 0, which is no run, if it is anything else or null.
constexpr std::uint64_t parse_run(const char* text) {
  std::uint64_t value = 0;
  int digits = 0;
  for (; text != nullptr && *text != '\0'; ++text, ++digits) {
    const int digit = hex_value(*text);
    if (digit < 0 || digits == kRunDigitsMax) return 0;
    value = value * 16 + static_cast<std::uint64_t>(digit);
  }
  return value;
}

}  // namespace nvs::wire
