// SPDX-License-Identifier: Apache-2.0
// Gangs: a tenant that is active on several GPUs gets its windows on them together, all or nothing.
// Its GPUs are reserved first, and opened when the last of them is free.
#pragma once

#include <vector>

#include "base/instant.h"
#include "core/node.h"

namespace nvs::core {

// How many gangs of a class are looked at on a GPU. Behind so many that cannot start, one that
// could is worth less than the time to find it.
inline constexpr int kGangTries = 8;

// Does it want, hold with work, or has it lost its window in the middle of its work a short while
// ago?
bool is_active(const Seat& seat, Instant now);

// Is the tenant active on several GPUs?
bool is_gang(const Tenant& tenant, Instant now);

// Where the tenant is active, in the order of GPUs.
std::vector<Seat*> gang_of(const Tenant& tenant, Instant now);

// After a seat has joined the line: if its tenant has become a gang, all its seats that wait stand
// with the gangs from now on.
void line_up(Node& node, Seat& seat);

// Those that have become singles with time alone stand with them again, at the latest when they
// have waited longest: else they would stand behind gangs that cannot start, and be in the way of
// those that are overdue.
void forget_gangs(Gpu& gpu, Instant now);

enum class Claim : std::uint8_t {
  turn,     // it is its turn on all of them
  overdue,  // it has waited so long that it is (overdue.h)
};
// May it have all of them? If not, `gpu`'s try_again says when to ask again.
bool can_start(Node& node, Gpu& gpu, const std::vector<Seat*>& gang, Claim claim);

// Keeps these GPUs for the gang, and ends the windows of others on them.
void reserve(Node& node, const std::vector<Seat*>& gang);

// Opens all GPUs of the gang that `gpu` is reserved for if they are free, and gives them up if it
// does not want them now. If neither, `gpu`'s try_again says when it may have forgotten one.
void open_reserved(Node& node, Gpu& gpu);

void cancel_reservation(Node& node, Tenant& tenant);

// After gates of the seat have changed: what it does not need any more, the rest of its gang need
// not wait for.
void note_activity(Node& node, Seat& seat);

// What a gang does on one of its GPUs may decide about the others.
void touch_gang(Node& node, const Seat& seat);

// Gives the seat a window from `begin` on, the same on all its GPUs if it runs as a gang: as long
// as the one of them with the longest windows has it.
void set_window(Seat& seat, Instant begin);

// The same on this GPU alone. It is a gang's turn again here; elsewhere others may come first, and
// the end of its window there ends it here too.
void renew_window(Seat& seat, Instant begin);

// After a window of a gang has ended: with the last of them it does not run as one any more.
void disband(const Tenant& tenant);

}  // namespace nvs::core
