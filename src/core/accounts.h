// SPDX-License-Identifier: Apache-2.0
// The accounts of those that have a cap (ADR-0020): who has one, whether its cap counts now, and
// what it may save.
#pragma once

#include <optional>

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// Gives the seat, whose tenant has a cap, an account if it has none yet.
void need_account(Node& node, Seat& seat);
// Its tenant has another cap, or none any more.
void change_account(Node& node, Seat& seat);
// A cap has changed: what the others saved until now, because of how much there was for them, is
// not spent before everybody has what is due from now on.
void cut_savings(Node& node, Gpu& gpu);
void cut_savings(Node& node, Seat& seat);  // the same for one
// What the tenant had when it was here before. It counts where it has not run yet.
void set_credit(Node& node, Tenant& tenant, Gpu& gpu, Duration credit);
// The seat is about to go, or its cap has gone.
void close_account(Node& node, Seat& seat);

// The span in which a cap holds for one that is alone. Where memory is had in turns it is a whole
// round: else somebody would sit in memory only to wait for its share.
Duration period_of(const Gpu& gpu);

// All below is for those that have an account.

// What it has saved; negative: owes.
Duration credit_of(const Seat& seat, Instant now);
// What it saves up before it runs again after it ran out.
Duration quantum(const Seat& seat);
// How long its credit will last while it works; nothing: for ever.
std::optional<Duration> lasts(const Seat& seat, Instant now);
// Its cap while it counts, in proportion to the others'.
Share cap_in_force(const Seat& seat);

// After gates of the seat have changed: does its cap count, and what may it keep of what it saved?
void note_counting(Node& node, Seat& seat);
// What it may keep of what it saved while others had the GPU.
void trim_credit(Seat& seat, Instant now);
// Those that have been idle for long enough do not count any more.
void lapse_due(Node& node, Gpu& gpu);

}  // namespace nvs::core
