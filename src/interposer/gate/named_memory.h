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

// A call adds to a graph what will be done on `gpu` when that is launched; -1: nobody knows where.
// Launches name all memory from then on, if some of this is another GPU's.
void note_in_graph(std::uint32_t owners, int gpu);

// The call is inside, and about to be made: what `gpu` is given uses this memory.
void note_submitted(std::uint32_t owners, int gpu);

void forget_graphs_in_child();

}  // namespace nvs::interposer::gate
