// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/arena.h"

namespace nvs::interposer::vmm {

const Piece* Arenas::take(const SpanOwner& owner, std::uint64_t bytes, Took& took) {
  took = Took::bad_size;
  return bytes < kSmallEnd ? spans_.take(owner, bytes, took) : nullptr;
}

std::uint64_t Arenas::next_bytes(const SpanOwner& owner) const {
  const std::uint64_t reserved = spans_.usage(owner).bytes_reserved;
  std::uint64_t bytes = kArenaMin;
  while (bytes < kArenaMax && bytes * 2 <= reserved) bytes *= 2;
  return bytes;
}

bool Arenas::add(const SpanOwner& owner, std::uint64_t base, std::uint64_t bytes) {
  if (bytes < kArenaMin || bytes > kArenaMax) return false;
  return spans_.add(owner, base, bytes, 0);
}

}  // namespace nvs::interposer::vmm
