// SPDX-License-Identifier: Apache-2.0
// How threads wait at the gate: asleep, or awake where what they wait for is due. They wait for
// changes, which are counted: the gate's word itself does not change when a single one is let in.
#pragma once

#include <cstdint>

#include "interposer/flow/flow.h"

namespace nvs::interposer::gate::waits {

// How many there were so far. To be asked before whatever it is that a thread then waits for.
std::uint32_t changes();
void changed();

// Until this moment threads at a closed gate stay awake.
void get_ready(std::int64_t until_ns);

// How long a thread that has waited for room lets the listener hear what the daemon has said, each
// time that it has.
inline constexpr std::int64_t kListenerFirst_ns = 100'000;

// Both until there are more changes than those, or for a while: the caller looks again.
void at_closed_gate(std::uint32_t seen);
void for_room(std::uint32_t seen, const flow::Room& room,
              std::int64_t listener_first_ns = kListenerFirst_ns);

// A thread that stayed awake was: for a while none does, as awake.h has it.
void kept_from_running();

void start_over_in_child();

}  // namespace nvs::interposer::gate::waits
