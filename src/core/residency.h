// SPDX-License-Identifier: Apache-2.0
// Residency: who is in a GPU's memory. If all fit, all are; else those that are in have a turn, and
// only they get windows (ADR-0012). In serial mode one runs at a time, for a whole turn.
#pragma once

#include "base/instant.h"
#include "core/event.h"
#include "core/node.h"
#include "core/policy.h"

namespace nvs::core {

enum class Stay : std::uint8_t {
  shared,  // others are in memory too and may run in between
  turn,    // it runs alone: to let another in, it has to go
};

constexpr Stay stay_of(const GpuPolicy& policy) {
  return policy.mode == Mode::serial ? Stay::turn : Stay::shared;
}

// How long a tenant may have the GPU while others wait.
constexpr Duration span_of(const GpuPolicy& policy) {
  return stay_of(policy) == Stay::turn ? policy.turn.value_or(kSerialTurn) : policy.window;
}

// With every length within its limits.
GpuPolicy within_limits(GpuPolicy policy);

// What clients may have together. Where nobody knows the size of a GPU, there is no limit.
std::uint64_t usable_bytes(const Gpu& gpu);

void on_memory_held(Node& node, Gate& gate, const MemoryHeld& event);
void set_capacity(Node& node, Gpu& gpu, std::uint64_t bytes);
// The gate is about to go: its memory is free.
void forget_memory(Node& node, Gate& gate);
// Something that the division of memory depends on has changed.
void touch_memory(Node& node, Gpu& gpu);

// After gates of the seat have changed: does memory have to be looked at?
void note_memory(Node& node, Seat& seat);
// It must not run: it lacks memory here, or wants another GPU as well and lacks memory there.
bool lacks_memory(const Seat& seat);

// Decides anew about the GPU's memory, if there is anything to decide.
void manage_memory(Node& node, Gpu& gpu);

}  // namespace nvs::core
