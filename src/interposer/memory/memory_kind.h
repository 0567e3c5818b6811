// SPDX-License-Identifier: Apache-2.0
// The kinds of memory that the books keep apart, as an enumeration with names; expanded from
// spec/memory_kinds.def.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nvs::interposer::memory {

enum class MemoryKind : std::uint8_t {
#define NVS_MEMORY_KIND(name, ownership, description) name,
#include "spec/memory_kinds.def"
#undef NVS_MEMORY_KIND
};

// own: the process holds the memory. borrowed: it opened what somebody else holds.
enum class Ownership : std::uint8_t { own, borrowed };

struct MemoryKindFacts {
  const char* name;
  Ownership ownership;
};

inline constexpr MemoryKindFacts kMemoryKinds[] = {
#define NVS_MEMORY_KIND(name, ownership, description) {#name, Ownership::ownership},
#include "spec/memory_kinds.def"
#undef NVS_MEMORY_KIND
};
inline constexpr std::size_t kMemoryKindCount = sizeof(kMemoryKinds) / sizeof(kMemoryKinds[0]);

constexpr std::size_t index_of(MemoryKind kind) { return static_cast<std::size_t>(kind); }
constexpr const MemoryKindFacts& facts_of(MemoryKind kind) { return kMemoryKinds[index_of(kind)]; }

}  // namespace nvs::interposer::memory
