// SPDX-License-Identifier: Apache-2.0
// Residency: who is in a GPU's memory. All tenants are, except in serial mode, where one is at a
// time and stays for a whole turn.
#pragma once

#include "base/instant.h"
#include "core/policy.h"

namespace nvs::core {

enum class Stay : std::uint8_t {
  shared,  // others are in memory too and may run in between
  turn,    // it is in memory alone: to let another in, it has to go
};

constexpr Stay stay_of(const GpuPolicy& policy) {
  return policy.mode == Mode::serial ? Stay::turn : Stay::shared;
}

// How long a tenant may have the GPU while others wait.
constexpr Duration span_of(const GpuPolicy& policy) {
  return stay_of(policy) == Stay::turn ? policy.turn.value_or(kSerialTurn) : policy.window;
}

// With every length within its limits.
GpuPolicy within_limits(GpuPolicy policy);

}  // namespace nvs::core
