// SPDX-License-Identifier: Apache-2.0
// What an event stands for: the op of its last record, also where another process made that record.
// Everything here is called with the driver's lock held.
#pragma once

#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

/// What must end before the event has happened. Null: it has, or was never recorded.
OpPtr record_of(Driver& driver, Event& event);

/// After `event.record` was submitted: lets the other processes that hold the event know, now that
/// it is recorded and later that it has happened.
void announce_record(Event& event);

}  // namespace nvs::sim
