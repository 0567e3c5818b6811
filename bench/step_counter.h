// SPDX-License-Identifier: Apache-2.0
// What does a hook cost? Times of a few nanoseconds drown in noise, instructions do not: a call is
// single-stepped from one mark in the program to the next, and every instruction counts but those
// of the function that the hook leads to, which runs at full speed. For x86-64.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <sys/types.h>

#include "bench/process_map.h"

namespace nvs::bench {

// Stops the calling thread for whoever counts its steps; without one it ends the process.
inline void step_mark() {
#if defined(__x86_64__)
  asm volatile("int3" ::: "memory");
#else
  __builtin_trap();
#endif
}

struct StepCount {
  std::uint64_t steps = 0;    // instructions outside of the callee
  std::uint64_t entries = 0;  // how often the callee was called from outside

  bool operator==(const StepCount&) const = default;
};

class StepCounter {
 public:
  // Traces the main thread of a child of this process; the other threads run on untouched. Throws
  // Failure if the system does not allow it, and on other processors.
  explicit StepCounter(pid_t pid);
  // The thread runs on.
  ~StepCounter();
  StepCounter(const StepCounter&) = delete;
  StepCounter& operator=(const StepCounter&) = delete;

  // Lets the thread run to its next mark, and counts from there to the one after. What is called
  // by way of `callee` belongs to it, wherever it lies: a driver also uses libc. Leaves the thread
  // stopped at the second mark. Nothing: the process ended before.
  std::optional<StepCount> next(const std::vector<CodeRange>& callee);

 private:
  enum class Stop { kStep, kMark, kEnded };

  Stop resume(int request);
  Stop step();
  Stop run_to_return(std::uint64_t stack_pointer);
  std::uint64_t read_word(std::uint64_t address) const;
  void write_word(std::uint64_t address, std::uint64_t word) const;

  pid_t pid_;
  bool stopped_ = false;
  bool ended_ = false;
};

}  // namespace nvs::bench
