// SPDX-License-Identifier: Apache-2.0
// When the calling thread entered the driver: what a call costs is counted from there, so that the
// simulator's own work is part of the modelled cost and not added to it.
#pragma once

#include "cuda_sim/machine/clock.h"

namespace nvs::sim {

void begin_call();
Nanos call_began();

}  // namespace nvs::sim
