// SPDX-License-Identifier: Apache-2.0
// Gangs that have waited too long. It may never be a gang's turn on all its GPUs at one time; so
// one that has waited for as long as the floor of its class takes to have a window for each of the
// class takes its GPUs as soon as no other gang is on its way to them, the oldest first. ADR-0011
// has the rules, and shows that this bounds all waits.
#pragma once

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// In the order in which tenants began to wait.
bool is_older(const Tenant& a, const Tenant& b);

// Has this gang waited too long, and no other of its class longer for one of its GPUs?
bool is_overdue(const Tenant& tenant, Instant now);

// The oldest of those that wait for this GPU; nothing if there is none.
Seat* overdue_gang(const Gpu& gpu, Instant now);

}  // namespace nvs::core
