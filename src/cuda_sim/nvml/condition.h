// SPDX-License-Identifier: Apache-2.0
// How a card fares: power, heat and clocks. They are not modelled; they follow the utilisation
// between the card's figures at rest and at work, so that tools show something that moves as on a
// real one.
#pragma once

#include <cstdint>

#include "cuda_api/nvml_types.h"
#include "cuda_sim/nvml/library.h"

namespace nvs::nvml {

bool is_busy(const Gpu& gpu);
unsigned power_mw(const Gpu& gpu);
unsigned celsius(const Gpu& gpu);
/// Since the host started, as if the card had been on all the time.
std::uint64_t energy_mj(const Gpu& gpu);
/// In MHz: now, and at most. Asked for the types below NVML_CLOCK_COUNT only.
unsigned clock_now(const Gpu& gpu, nvmlClockType_t type);
unsigned clock_max(const Gpu& gpu, nvmlClockType_t type);

}  // namespace nvs::nvml
