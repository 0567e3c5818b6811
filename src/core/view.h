// SPDX-License-Identifier: Apache-2.0
// A picture of the schedule for status, traces, metrics and checkers. Plain data, copied out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "core/ids.h"
#include "core/policy.h"

namespace nvs::core {

enum class TenantState : std::uint8_t {
  absent,        // never used this GPU
  idle,          // has no work; may still have its window, while nobody wants it
  waiting,       // wants the GPU
  running,       // has its window, with work
  draining,      // its window is being closed
  loose,         // could not drain: runs beside the others
  unresponsive,  // did not answer: others go on without it
  paused,
  swapped,    // waits until its memory has been brought in
  throttled,  // has had its share for now
  faulted,    // its contexts are lost, and what it has stays until it ends
};

struct TenantOnGpu {
  GpuId gpu;
  TenantState state = TenantState::absent;
  Duration used;         // GPU time billed, all in all
  Duration had = {};     // of that, where several ran at once, its part
  Duration waited;       // all in all
  Duration waiting_now;  // since it last asked; zero if it does not wait
  Duration longest_wait;
  std::uint64_t windows = 0;
  Share cap = kNoCap;           // as it was set
  Share cap_in_force = kNoCap;  // after scaling, where caps add up to more than the GPU
  Duration credit = {};         // what it has saved; negative: owes
  Duration throttled = {};      // time in which it had work and had had its share, all in all
  Duration memory_wait = {};    // and time in which it waited for its memory
  // Its memory, in bytes.
  std::uint64_t resident = 0;
  std::uint64_t away = 0;
  std::uint64_t fixed = 0;
  std::uint64_t asked = 0;
  std::uint64_t allowed = 0;
  bool too_large = false;  // it never fits beside what cannot be moved
  bool stuck = false;      // a client of it was to move memory, and nothing moves
};

struct TenantView {
  TenantId tenant;
  Priority priority = Priority::normal;
  std::uint32_t weight = 100;
  bool paused = false;
  std::vector<ClientId> clients;
  std::vector<TenantOnGpu> gpus;  // those it ever used
};

struct GpuView {
  GpuId gpu;
  GpuPolicy policy;
  std::uint64_t capacity_bytes = 0;
  std::optional<TenantId> holder;  // whose window is open or draining
  std::vector<TenantId> loose;     // run beside it
  std::uint32_t waiting = 0;
  std::uint64_t switches = 0;      // windows that went to another tenant than the one before
  Duration held;                   // time in which somebody had the window
  Duration handover;               // time between a window's end and the next while somebody waited
  std::uint64_t usable_bytes = 0;  // of the capacity, as far as the driver had it
  std::uint64_t committed_bytes = 0;  // that clients have or may take without asking
  std::uint32_t swapped = 0;          // tenants that wait for memory
  std::uint64_t turns = 0;
  Duration turn;  // how long one is now; zero while nobody has to take turns
  // Left the GPU and came back, all in all, as far as clients told.
  std::uint64_t moved_out_bytes = 0;
  std::uint64_t moved_in_bytes = 0;
  std::uint32_t caps = 0;   // the sum of those that count now, in millionths
  Duration swap_idle = {};  // nobody ran, and somebody waited for memory
};

struct NodeView {
  std::vector<GpuView> gpus;
  std::vector<TenantView> tenants;
};

}  // namespace nvs::core
