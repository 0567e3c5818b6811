// SPDX-License-Identifier: Apache-2.0
// Submissions that may pass a closed gate one by one, because what is waited for may wait for them.
// What whoever drains needs to know of them is in gate.h.
#pragma once

#include <cstdint>

#include "interposer/gate/gate.h"

namespace nvs::interposer::gate {

// GPUs are one bit each. Taken are all or none.
bool has_credits(std::uint32_t gpus);
bool take_credits(std::uint32_t gpus);

void forget_credit(int gpu);
void forget_credits();

}  // namespace nvs::interposer::gate
