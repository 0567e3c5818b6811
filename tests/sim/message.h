// SPDX-License-Identifier: Apache-2.0
// What a process and the daemon say to each other, as src/wire has it but for the encoding.
#pragma once

#include <cstdint>

#include "core/effect.h"

namespace nvs::sim {

// Of a GPU's memory, in bytes, as core::MemoryHeld has it.
struct Holdings {
  std::uint64_t number = 0;
  std::uint64_t resident = 0;
  std::uint64_t away = 0;
  std::uint64_t fixed = 0;
  std::uint64_t asked = 0;
  bool is_short = false;
  bool is_faulted = false;
  bool stays = false;
  bool reached = false;
};

struct Message {
  enum class Kind : std::uint8_t {
    hello,
    use_open_gpu,
    want,
    idle,
    busy,
    drained,
    draining,
    stalled,
    refused,
    holds,
    goodbye,
  };
  Kind kind = Kind::hello;
  core::GpuId gpu{};
  core::GrantId grant{};
  bool waiting = false;  // drained: threads are at the gate
  // draining: what it still has queued, if known; idle, drained: without work; busy: with work
  Duration span;
  Holdings memory;  // holds
};

}  // namespace nvs::sim
