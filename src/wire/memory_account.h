// SPDX-License-Identifier: Apache-2.0
// The books of a tenant's memory, in a file that its processes and the daemon map: how much it may
// have of each GPU, and how much each of its processes has. What is allocated is added up here, so
// that no process has to ask anybody. A process writes to its own slot, and its own bit of pieces
// that others can have too; the daemon writes the limits, and clears up after processes that are
// gone. To the daemon all but the limits are words of strangers.
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

inline constexpr std::uint32_t kAccountPieces = 1024;
inline constexpr std::uint32_t kHolderBits = 64;  // of a word

// Memory that several processes of the tenant can have (ADR-0030). It is in nobody's slot, and
// counts once, for as long as any of them holds it.
struct AccountPiece {
  std::uint64_t name;  // what those who share it know it by; 0: there never was a piece here
  std::uint64_t bytes;
  std::uint64_t gpu;  // as the daemon numbers them
  std::uint64_t
      holders[kAccountSlots / kHolderBits];  // a bit for each slot; none: the place is free
};

struct AccountPieces {
  std::uint32_t places;  // written by the daemon; one that is older leaves it at 0
  std::uint32_t used;    // no place from here on was ever used
  AccountPiece piece[kAccountPieces];
};

// The file of a daemon that knows of pieces. That of an older one ends somewhere behind the first
// part, on whose last page `places` lies.
struct AccountFileWithPieces {
  AccountFile file;
  AccountPieces pieces;
};

}  // namespace nvs::wire
