// SPDX-License-Identifier: Apache-2.0
// The time without a system call: the kernel's own function in every process (the vDSO), found by
// reading tables. It is asked several times for each submission while a queue is bounded.
#pragma once

#include <cstdint>

namespace nvs::interposer {

// CLOCK_MONOTONIC.
std::int64_t clock_ns();

}  // namespace nvs::interposer
