// SPDX-License-Identifier: Apache-2.0
// Calls may name memory of other GPUs than the one that they are for: copies do, with and without
// peer access. They have to pass the gates of those GPUs too, or what they name may be away
// (ADR 29). Only processes with several GPUs are looked at.
#pragma once

#include <cstdint>

#include "interposer/gate/gate.h"

namespace nvs::interposer::gate {

// The GPUs whose memory a call names and that can move, one bit each.
std::uint32_t owners_named_by(const Call& call);

// The one whose movable memory this is, as a bit; 0: none.
std::uint32_t owner_of(CUdeviceptr address);

// The call is inside, and about to be made: what `gpu` is given uses this memory.
void note_submitted(std::uint32_t owners, int gpu);

void forget_gpus_in_child();

}  // namespace nvs::interposer::gate
