// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/plain_memory.h"

#include <algorithm>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kAlignment = 512;

std::uint64_t round_up_to(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::array<Access, kGpusMax> initial_access(Driver& driver, const Context& owner) {
  std::array<Access, kGpusMax> access{};
  access[owner.gpu] = Access::read_write;
  for (const auto& [handle, other] : driver.contexts.all()) {
    if (!other->destroyed && other->peers[owner.gpu]) access[other->gpu] = Access::read_write;
  }
  return access;
}

// First fit in a block that has a gap of that size.
std::optional<std::uint64_t> find_gap(const Slab& slab, std::uint64_t bytes, std::uint64_t size) {
  std::uint64_t cursor = 0;
  for (const auto& [offset, used] : slab.used) {
    if (offset - cursor >= bytes) return cursor;
    cursor = offset + round_up_to(used, kAlignment);
  }
  if (size - cursor >= bytes) return cursor;
  return std::nullopt;
}

std::uint64_t place(Driver& driver, Context& context, Slab& slab, std::uint64_t offset,
                    std::uint64_t bytes) {
  slab.used[offset] = bytes;
  const std::uint64_t padded = round_up_to(bytes, kAlignment);
  slab.physical->poison_if_fresh(offset, padded);
  poison(slab.physical->at(offset), padded);
  Mapping mapping;
  mapping.begin = slab.begin + offset;
  mapping.size = bytes;
  mapping.physical = slab.physical;
  mapping.offset = offset;
  mapping.context = context.key;
  mapping.access = initial_access(driver, context);
  driver.space.map(std::move(mapping));
  return slab.begin + offset;
}

std::uint64_t allocate_small(Driver& driver, Context& context, std::uint64_t bytes) {
  const std::uint64_t block = driver.granularity();
  const std::uint64_t padded = round_up_to(bytes, kAlignment);
  for (const auto& slab : driver.slabs) {
    if (slab->context != context.key) continue;
    if (const auto gap = find_gap(*slab, padded, block)) {
      return place(driver, context, *slab, *gap, bytes);
    }
  }
  Arena* arena = driver.arena(context.gpu);
  if (arena == nullptr) return 0;
  auto slab = std::make_unique<Slab>();
  slab->physical = Physical::create(*driver.machine, *arena, context.gpu, block, Exportable::no);
  if (!slab->physical) return 0;
  slab->begin = driver.space.reserve(block, block, 0, true);
  if (slab->begin == 0) return 0;
  slab->context = context.key;
  driver.slabs.push_back(std::move(slab));
  return place(driver, context, *driver.slabs.back(), 0, bytes);
}

}  // namespace

std::uint64_t allocate_plain(Driver& driver, Context& context, std::uint64_t bytes) {
  const std::uint64_t block = driver.granularity();
  if (bytes > driver.machine->capacity()) return 0;
  if (bytes <= block / 2) return allocate_small(driver, context, bytes);
  Arena* arena = driver.arena(context.gpu);
  if (arena == nullptr) return 0;
  const std::uint64_t padded = round_up_to(bytes, block);
  auto physical = Physical::create(*driver.machine, *arena, context.gpu, padded, Exportable::no);
  if (!physical) return 0;
  Mapping mapping;
  mapping.begin = driver.space.reserve(padded, block, 0, true);
  if (mapping.begin == 0) return 0;
  mapping.size = bytes;
  mapping.physical = std::move(physical);
  mapping.context = context.key;
  mapping.access = initial_access(driver, context);
  return driver.space.map(std::move(mapping)).begin;
}

void free_plain(Driver& driver, std::uint64_t begin) {
  driver.space.unmap(begin);
  const auto slab = std::find_if(
      driver.slabs.begin(), driver.slabs.end(), [&](const std::unique_ptr<Slab>& candidate) {
        return begin >= candidate->begin && begin < candidate->begin + driver.granularity();
      });
  if (slab == driver.slabs.end()) {
    if (const Reservation* reservation = driver.space.reservation(begin, 1)) {
      driver.space.release(reservation->begin, reservation->size);
    }
    return;
  }
  (*slab)->used.erase(begin - (*slab)->begin);
  if (!(*slab)->used.empty()) return;
  driver.space.release((*slab)->begin, driver.granularity());
  driver.slabs.erase(slab);
}

void set_peer_access(Driver& driver, const Context& owner, unsigned gpu, Access access) {
  for (auto& [begin, mapping] : driver.space.mappings()) {
    if (mapping.context == owner.key) mapping.access[gpu] = access;
  }
}

}  // namespace nvs::sim
