// SPDX-License-Identifier: Apache-2.0
// Data that is lost on a move would be found much later, in a program's results, or never. Where
// NVS_CHECK_MOVES is defined, as in debug builds, both ends of each move are looked at: a chunk
// that is about to lose its memory must be what its copy is said to be, and one that has come must
// be what left. One that is not ends the process, with a line that says so: no program goes on with
// wrong data. Without it nothing of this is compiled.
#pragma once

#include "interposer/memory/swap/flight.h"

namespace nvs::interposer::swap {

#ifdef NVS_CHECK_MOVES
inline constexpr bool kChecksMoves = true;
#else
inline constexpr bool kChecksMoves = false;
#endif

// All that was submitted for it is done, and nobody else can use it yet, or any more. It is hashed
// on the device, as what leaves is hashed; where that is not possible nothing is said.
void check_end(Flight& flight, int slot, Direction direction);

}  // namespace nvs::interposer::swap
