// SPDX-License-Identifier: Apache-2.0
// What programs ask about addresses, answered from the tables: whether or not the pages are on the
// device just now, and as if the driver had allocated them in one piece.
#pragma once

#include <cstdint>

#include "interposer/memory/swap/allocate.h"
#include "interposer/memory/vmm/view_table.h"

namespace nvs::interposer::swap {

enum class Whose : std::uint8_t {
  drivers,  // or nobody's: the driver knows
  nobodys,  // between or behind allocations of ours, where the driver sees pages
  ours,
};

// What else there is to say of a view (ADR 17).
struct ViewFacts {
  vmm::Range reserved = {};
  std::uint64_t number = 0;
  std::uint64_t handle_types = 0;
  std::uint8_t access = 0;  // of its own device
};

struct Named {
  Allocated allocated;
  // What its pages are mapped with: it alone, or what small allocations share.
  std::uint64_t mapping_base = 0;
  std::uint64_t mapping_bytes = 0;
  bool is_pinned = false;
  bool is_borrowed = false;  // another process shares it
  bool is_view = false;      // of memory that the program created itself
  ViewFacts view = {};
};
Whose whose(std::uint64_t address, Named& named);

// Bytes that the process has allocated of a GPU, on it or not: as programs count them.
std::uint64_t allocated_bytes(int gpu);

// From now on the pages with this address stay where they are, and so do all that are mapped with
// them: the GPU's own copy of them is known outside the process's gate. Only inside the gate, where
// all of them are there. False if it is none of ours.
bool pin(std::uint64_t address);
// All of ours from there on without a gap. What is beyond is the driver's.
void pin_all(const vmm::Range& range);

// Pinned chunks: their handles, in order. Nothing to the others.
struct PinnedChunk {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t handle = 0;
};
// The chunk that has this address; false if there is none that is pinned.
bool pinned_chunk(std::uint64_t address, PinnedChunk& chunk);

}  // namespace nvs::interposer::swap
