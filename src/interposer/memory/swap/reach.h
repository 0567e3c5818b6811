// SPDX-License-Identifier: Apache-2.0
// Whether a GPU may work: all memory that it can reach has to be there, its own and that of other
// GPUs (ADR 29).
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// The other GPUs whose memory this one can reach, and of which some is away, on its way, or has to
// go; one bit each.
std::uint32_t lacking(int gpu);

// Whether all memory of the process that the GPU can reach is there and stays there: its gate may
// open. What was clean may be written from then on. With the session's lock held.
bool begin_window(int gpu);

}  // namespace nvs::interposer::swap
