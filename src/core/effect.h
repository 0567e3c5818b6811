// SPDX-License-Identifier: Apache-2.0
// What the core wants done. Effects are data: the daemon turns them into messages, the simulator
// into the behaviour of its clients.
#pragma once

#include <cstdint>
#include <variant>

#include "base/instant.h"
#include "core/ids.h"

namespace nvs::core {

// How a client must behave in its window.
struct WindowTerms {
  Duration queue_bound;  // how much GPU time it may have queued; zero: as much as it likes
  bool awaited = false;  // somebody waits for the GPU now: say at once when idle
  bool capped = false;   // its time is counted: say when idle, and since when, though nobody waits
  bool bounded() const { return queue_bound > Duration{}; }
  bool operator==(const WindowTerms&) const = default;
};

struct OpenWindow {
  ClientId client;
  GpuId gpu;
  GrantId grant;
  WindowTerms terms;
  bool took_over = false;  // another tenant had a window before, and the GPU turns to this one
};
// Other terms for a window that stays open.
struct ChangeTerms {
  ClientId client;
  GpuId gpu;
  GrantId grant;
  WindowTerms terms;
};
// Close the gate, drain, and answer with Drained or DrainRefused.
struct CloseWindow {
  ClientId client;
  GpuId gpu;
  GrantId grant;
};
// Let one submission that waits at the closed gate in: work under way may depend on it. Whoever has
// drained the grant meanwhile leaves it.
struct LetOneIn {
  ClientId client;
  GpuId gpu;
  GrantId grant;  // the one that is being closed; a client without any gets a fresh one
};

// Its window will probably open in so long. Nothing depends on it: threads that are awake by then
// save the time that it takes to wake them.
struct GetReady {
  ClientId client;
  GpuId gpu;
  Duration in;
};

// How much of the GPU's memory the client may have, of what can be moved. It moves out what it has
// beyond that, once its gate is closed and drained, and brings in what it lacks; MemoryHeld tells.
struct SetAllowance {
  ClientId client;
  GpuId gpu;
  std::uint64_t number;  // they grow
  std::uint64_t bytes;
  bool shared = false;  // others use the GPU too
};

using Effect = std::variant<OpenWindow, ChangeTerms, CloseWindow, LetOneIn, GetReady, SetAllowance>;

}  // namespace nvs::core
