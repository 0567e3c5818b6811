// SPDX-License-Identifier: Apache-2.0
// Sleeping and waking on a word of the shared segment, across processes.
#pragma once

#include <atomic>
#include <cstdint>

#include "cuda_sim/machine/clock.h"

namespace nvs::sim {

/// Sleeps while the word holds `expected`, until woken or until `deadline`. False: the deadline
/// passed.
bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanos deadline);

void futex_wake(std::atomic<std::uint32_t>& word, int count);

std::int32_t current_pid();

}  // namespace nvs::sim
