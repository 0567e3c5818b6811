// SPDX-License-Identifier: Apache-2.0
// The one clock of a simulated machine: the host's monotonic clock, which all its processes share.
#pragma once

#include <cstdint>

namespace nvs::sim {

using Nanos = std::int64_t;

Nanos now_ns();

/// Sleeps until the clock shows `deadline`. Precise: sleeps short of it and spins the rest.
void wait_until(Nanos deadline);

/// Sleeps until about `deadline`; may oversleep by the thread's timer slack.
void doze_until(Nanos deadline);

}  // namespace nvs::sim
