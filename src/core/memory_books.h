// SPDX-License-Identifier: Apache-2.0
// What clients told about their memory on a GPU, added up: what each tenant needs, what cannot be
// moved, and who does not move what it should.
#pragma once

#include <cstdint>
#include <optional>

#include "base/instant.h"
#include "core/event.h"
#include "core/node.h"

namespace nvs::core {

// Puts the seat into the GPU's list when it first tells something, and takes it out when nobody of
// it has told anything.
void enter_memory(Seat& seat, bool complete);
void leave_memory(Seat& seat);

void note_held(Gate& gate, const MemoryHeld& told, Instant now);
// The driver did not have what the client was allowed by the word of that number. It means nothing
// once there is a later one.
void note_shortage(Gpu& gpu, const Gate& gate, std::uint64_t number, Instant now);
// It may be there again.
void forget_shortage(Gpu& gpu, Instant now);
// Those that should have moved something and did not are not waited for any more; and some of what
// was short may be there again.
void note_time_passed(Gpu& gpu, Instant now);
// When that will be so, if nothing happens.
std::optional<Instant> stalls_at(const Gpu& gpu);

// What it has can be neither moved nor counted on to shrink: it does not answer, does not drain, is
// lost, or is in use on another GPU.
bool stays_put(const Gate& gate);

bool asks_for_more(const Seat& seat);
// It may take what it asks for at any moment.
bool is_promised(const GateMemory& memory);

// It has work there, as far as its clients said.
bool is_at_work(const Seat& seat);
// The tenant has work on other GPUs that may use its memory on this one (ADR-0029).
bool is_worked_on(const Seat& seat);
void note_work(Seat& seat, Instant now);
void note_waits(Seat& seat, Instant now);
// What else about its gates memory depends on, as a number to compare.
std::uint32_t look_at(const Seat& seat);

// Somebody else than this one waits for memory there, possible or not.
bool is_memory_awaited(const Gpu& gpu, const Seat& of);

// Brings the sums of all seats up to date, and says whether they all fit.
void sum_up(Gpu& gpu, Instant now);
// Beside what cannot be moved.
std::uint64_t movable_bytes(const Gpu& gpu);
// That clients have, or may take without asking.
std::uint64_t committed_bytes(const Gpu& gpu);

}  // namespace nvs::core
