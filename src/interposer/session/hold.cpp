// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/hold.h"

#include <bit>

#include "interposer/gate/waits.h"
#include "interposer/session/client.h"

namespace nvs::interposer::session {
namespace {

// A call of another thread may wait for work that this one keeps from being submitted.
constexpr std::int64_t kPatience_ns = 1'000'000'000;

// What the daemon said meanwhile counts.
bool stays_closed(int gpu) {
  return gpus[gpu].phase == Phase::closed || gpus[gpu].phase == Phase::draining;
}

}  // namespace

Hold::Hold(std::uint32_t which) : gpus_(which) {
  {
    const os::FutexGuard guard(lock);
    held |= which;
  }
  for (std::uint32_t left = which; left != 0; left &= left - 1) {
    while (!gate::begin_close(std::countr_zero(left))) {
    }
  }
  is_alone_ = gate::wait_until_outside(kPatience_ns);
}

Hold::~Hold() {
  const os::FutexGuard guard(lock);
  held &= ~gpus_;
  for (std::uint32_t left = gpus_; left != 0; left &= left - 1) {
    const int gpu = std::countr_zero(left);
    if (!stays_closed(gpu)) gate::open(gpu);
  }
  // Whoever met a gate that we had closed has not asked the daemon for what is closed by now.
  gate::waits::changed();
}

}  // namespace nvs::interposer::session
