// SPDX-License-Identifier: Apache-2.0
// The books of a tenant's memory, in a file that its processes and the daemon map: how much it may
// have of each GPU, and how much each of its processes has. What is allocated is added up here, so
// that no process has to ask anybody. A process writes to its own slot only; the daemon writes the
// limits, and clears the slots of processes that are gone. To the daemon all but the limits are
// words of strangers.
#pragma once

#include <cstdint>

namespace nvs::wire {

inline constexpr std::uint32_t kAccountGpus = 64;     // as the daemon numbers them
inline constexpr std::uint32_t kAccountSlots = 1024;  // processes of a tenant
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

// All of it is read and written atomically, through std::atomic_ref.

// Bytes that a process asked for and has, or is about to have.
struct AccountSlot {
  std::uint64_t used[kAccountGpus];
};

struct AccountFile {
  // 0: free; else one more than the slot of who holds it. Whoever adds holds it, so that two who
  // come at once are not both refused; it is a futex.
  std::uint32_t lock;
  std::uint32_t slots;                // no slot from here on was ever used
  std::uint64_t limit[kAccountGpus];  // bytes, or kUnlimited
  AccountSlot slot[kAccountSlots];
};

}  // namespace nvs::wire
