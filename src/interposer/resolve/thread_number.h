// SPDX-License-Identifier: Apache-2.0
// Numbers of threads that are never given out twice, unlike thread ids: what is remembered of a
// thread outlives it.
#pragma once

#include <atomic>
#include <cstdint>

namespace nvs::interposer {

// Of the calling thread; not 0.
inline std::uint64_t thread_number() {
  static constinit std::atomic<std::uint64_t> given_out{0};
  static constinit thread_local std::uint64_t number = 0;
  if (number == 0) number = given_out.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace nvs::interposer
