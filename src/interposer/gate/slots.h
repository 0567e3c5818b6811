// SPDX-License-Identifier: Apache-2.0
// The marks of all threads: given out at a thread's first call, taken back when it ends, and read
// by whoever closes the gate.
#pragma once

#include <cstdint>

#include "interposer/gate/gate.h"

namespace nvs::interposer::gate {

// The calling thread's slot; null if all are taken. Sets thread_slot.
Slot* take_slot();

// Slots that were ever given out lie below this index.
std::uint32_t slots_used();
Slot& slot_at(std::uint32_t index);

// Another one for the same thread, given out and taken back together: the mark of a captured call,
// for which no drain waits.
Slot& captured_slot(const Slot& slot);
// Whether any of those is marked, by a thread that lives.
bool is_captured_marked();

// A stream is about to be destroyed: waits until no other thread is inside with a submission to it.
// The program may know of its end before we have put a mark behind it. Not for long: a thread that
// submits to what is being destroyed is the program's own affair.
void wait_until_unused(CUstream stream);

// Frees the slot of a thread that is gone without having told us. False: the thread lives.
bool reclaim_if_dead(Slot& slot);

// For the child of a fork.
void forget_slots();

}  // namespace nvs::interposer::gate
