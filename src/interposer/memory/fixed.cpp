// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/fixed.h"

#include "interposer/memory/books.h"
#include "interposer/memory/graph_room.h"

namespace nvs::interposer::memory {
namespace {

template <class Count>
std::uint64_t sum_on(int gpu, Count count) {
  std::uint64_t bytes = 0;
  OwnerRow row;
  for (std::size_t i = 0; i <= kOwnersMax; ++i) {
    if (books().row(i, row) && row.device == gpu) bytes += count(row);
  }
  return bytes;
}

// What the process has opened is on the GPU once, however many have it open, and counts for whoever
// made it; where nobody did, or its maker is gone, the daemon sees it as used by others.
std::uint64_t own_bytes(const OwnerRow& row) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < kMemoryKindCount; ++i) {
    if (kMemoryKinds[i].ownership == Ownership::own) bytes += row.kinds[i].bytes_now;
  }
  return bytes;
}

}  // namespace

std::uint64_t fixed_on(int gpu) { return fixed_in_books(gpu) + graphs::kept_bytes(gpu); }

std::uint64_t fixed_in_books(int gpu) {
  return sum_on(gpu, [](const OwnerRow& row) {
    return own_bytes(row) - row.of(MemoryKind::movable).bytes_now -
           row.of(MemoryKind::unified).bytes_now - row.of(MemoryKind::managed).bytes_now -
           row.of(MemoryKind::graph).bytes_now;
  });
}

std::uint64_t left_by_graphs(int gpu) {
  return sum_on(gpu, [](const OwnerRow& row) { return row.of(MemoryKind::graph).bytes_now; });
}

std::uint64_t unified_on(int gpu) {
  return sum_on(gpu, [](const OwnerRow& row) { return row.of(MemoryKind::unified).bytes_now; });
}

std::uint64_t managed_on(int gpu) {
  return sum_on(gpu, [](const OwnerRow& row) {
    return row.of(MemoryKind::unified).bytes_now + row.of(MemoryKind::managed).bytes_now;
  });
}

std::uint64_t allocated_on(int gpu) { return sum_on(gpu, own_bytes); }

}  // namespace nvs::interposer::memory
