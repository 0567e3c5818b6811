// SPDX-License-Identifier: Apache-2.0
// What the books write down of one piece of memory and of one VMM mapping, as slots of their
// tables.
#pragma once

#include <cstdint>

#include "interposer/memory/memory_kind.h"
#include "interposer/memory/pieces.h"
#include "interposer/memory/slot_table.h"

namespace nvs::interposer::memory {

// What a number means. Values of different spaces may be equal.
enum class Space : std::uint8_t {
  none,
  address,
  vmm_handle,
  array,
  mipmapped_array,
  external_memory,
  heap,        // by its context
  graph_node,  // by a number of ours
};

// Whose memory it is: a context's, or that of a device, which no context takes along when it goes
// (VMM). A device is named by its ordinal, host memory of the VMM by kHostDevice.
enum class OwnerType : std::uint8_t { context, device };
inline constexpr int kHostDevice = -1;
inline constexpr int kUnknownDevice = -2;

struct Owner {
  OwnerType type = OwnerType::context;
  std::uint64_t value = 0;

  friend constexpr bool operator==(const Owner& a, const Owner& b) {
    return a.type == b.type && a.value == b.value;
  }
};

constexpr Owner device_owner(int device) {
  return {OwnerType::device, static_cast<std::uint64_t>(static_cast<std::int64_t>(device))};
}

// Every record and mapping gets a number when it is written down, ever larger. A call that takes
// something from the driver first and from the books afterwards notes the number before: what
// is younger came after the call, at the same address or under the same handle.
using Birth = std::uint64_t;

struct Record {
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  std::uint64_t charged = 0;  // what counts against a limit: bytes that the program asked for
  PieceName piece = 0;        // then it counts there, and not on the process's own account
  std::uint64_t owner_value = 0;
  Birth birth = 0;
  std::uint32_t references = 0;
  std::uint32_t mappings = 0;
  Space space = Space::none;
  MemoryKind kind = MemoryKind::plain;
  OwnerType owner_type = OwnerType::context;
  std::uint8_t row = 0;
  std::int16_t device = 0;  // on whose account it is; none if negative

  Owner owner() const { return {owner_type, owner_value}; }
  bool used() const { return space != Space::none; }
  std::uint64_t hash() const { return spread(id + static_cast<std::uint64_t>(space)); }
  bool same_key(const Record& other) const { return id == other.id && space == other.space; }
};
static_assert(sizeof(Record) == 64);

// A range of addresses at which a VMM handle is mapped. The handle's own birth goes with it: the
// value may mean another memory by the time the mapping ends.
struct Mapping {
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::uint64_t handle = 0;
  Birth handle_birth = 0;
  Birth birth = 0;

  bool used() const { return size != 0; }
  std::uint64_t hash() const { return spread(begin); }
  bool same_key(const Mapping& other) const { return begin == other.begin; }
};

}  // namespace nvs::interposer::memory
