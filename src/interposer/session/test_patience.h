// SPDX-License-Identifier: Apache-2.0
// For scenarios with threads, about code that gives up after a while.
#pragma once

#include <chrono>

namespace nvs::interposer {

using PatienceClock = std::chrono::steady_clock;

// A machine that stands still proves nothing: a scenario counts only if its decisive moment, which
// it returns, came before anybody's patience could have ended, and is else played again.
template <class Scenario>
void play_in_time(PatienceClock::duration patience, const Scenario& scenario) {
  PatienceClock::time_point start;
  do {
    start = PatienceClock::now();
  } while (scenario() - start >= patience);
}

}  // namespace nvs::interposer
