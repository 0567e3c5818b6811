// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/memory/address_space.h"

#include <cstddef>

#include <sys/mman.h>

namespace nvs::sim {
namespace {

constexpr std::size_t kRetiredMax = 4096;

void* as_pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

// The entry whose range holds `address`, in a map keyed by the begin of disjoint ranges.
template <class Map>
auto containing(Map& map, std::uint64_t address) -> decltype(&map.begin()->second) {
  auto it = map.upper_bound(address);
  if (it == map.begin()) return nullptr;
  --it;
  return address < it->second.begin + it->second.size ? &it->second : nullptr;
}

template <class Map>
bool overlaps(const Map& map, std::uint64_t begin, std::uint64_t size) {
  const auto after = map.lower_bound(begin);
  if (after != map.end() && after->first < begin + size) return true;
  return containing(map, begin) != nullptr;
}

constexpr bool allows(Access granted, Access need) {
  const auto bits = static_cast<unsigned>(need);
  return (static_cast<unsigned>(granted) & bits) == bits;
}

}  // namespace

std::uint64_t AddressSpace::reserve(std::uint64_t size, std::uint64_t alignment, std::uint64_t hint,
                                    bool whole_allocation) {
  const std::uint64_t padded = size + alignment;
  if (padded < size) return 0;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  std::uint64_t begin = 0;
  if (hint != 0 && hint % alignment == 0) {
    void* at = ::mmap(as_pointer(hint), size, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != MAP_FAILED && at != as_pointer(hint)) {
      ::munmap(at, size);
    } else if (at != MAP_FAILED) {
      begin = hint;
    }
  }
  if (begin == 0) {
    void* at = ::mmap(nullptr, padded, PROT_NONE, kFlags, -1, 0);
    if (at == MAP_FAILED) return 0;
    const auto base = reinterpret_cast<std::uint64_t>(at);
    begin = (base + alignment - 1) / alignment * alignment;
    if (begin != base) ::munmap(at, begin - base);
    const std::uint64_t tail = base + padded - (begin + size);
    if (tail != 0) ::munmap(as_pointer(begin + size), tail);
  }
  reservations_[begin] = {begin, size, whole_allocation};
  return begin;
}

bool AddressSpace::release(std::uint64_t begin, std::uint64_t size) {
  const auto it = reservations_.find(begin);
  if (it == reservations_.end() || it->second.size != size) return false;
  ::munmap(as_pointer(begin), size);
  reservations_.erase(it);
  return true;
}

void AddressSpace::retire(std::uint64_t address) {
  const Reservation* found = reservation(address, 1);
  if (found == nullptr) return;
  retired_.push_back(found->begin);
  if (retired_.size() <= kRetiredMax) return;
  const std::uint64_t oldest = retired_.front();
  retired_.pop_front();
  release(oldest, reservations_.at(oldest).size);
}

const Reservation* AddressSpace::reservation(std::uint64_t begin, std::uint64_t size) const {
  const Reservation* found = containing(reservations_, begin);
  if (found == nullptr || size > found->size || begin - found->begin > found->size - size) {
    return nullptr;
  }
  return found;
}

Mapping& AddressSpace::map(Mapping mapping) {
  mapping.buffer_id = next_buffer_id();
  const std::uint64_t begin = mapping.begin;
  return mappings_[begin] = std::move(mapping);
}

Mapping* AddressSpace::find(std::uint64_t address) { return containing(mappings_, address); }

bool AddressSpace::any_in(std::uint64_t begin, std::uint64_t size) const {
  return overlaps(mappings_, begin, size);
}

void AddressSpace::add_host(HostRange range) {
  range.buffer_id = next_buffer_id();
  hosts_[range.begin] = range;
}

HostRange* AddressSpace::find_host(std::uint64_t address) { return containing(hosts_, address); }

std::vector<Mapping*> AddressSpace::mappings_in(std::uint64_t begin, std::uint64_t size) {
  std::vector<Mapping*> found;
  if (Mapping* first = find(begin); first != nullptr) found.push_back(first);
  for (auto it = mappings_.upper_bound(begin); it != mappings_.end(); ++it) {
    if (it->first - begin >= size) break;
    found.push_back(&it->second);
  }
  return found;
}

const HostRange* AddressSpace::first_host_in(std::uint64_t begin, std::uint64_t size) const {
  if (const HostRange* found = containing(hosts_, begin); found != nullptr) return found;
  const auto after = hosts_.lower_bound(begin);
  return after != hosts_.end() && after->first - begin < size ? &after->second : nullptr;
}

std::optional<View> AddressSpace::view(std::uint64_t begin, std::uint64_t size, unsigned gpu,
                                       Access need) {
  View view;
  while (size > 0) {
    if (const Mapping* mapping = find(begin); mapping != nullptr) {
      if (!allows(mapping->access[gpu], need)) return std::nullopt;
      const std::uint64_t inside = begin - mapping->begin;
      const std::uint64_t run = std::min(size, mapping->size - inside);
      const std::uint64_t offset = mapping->offset + inside;
      view.append(mapping->physical, offset, mapping->physical->at(offset), run);
      begin += run;
      size -= run;
      continue;
    }
    const HostRange* host = find_host(begin);
    if (host == nullptr) return std::nullopt;
    const std::uint64_t run = std::min(size, host->begin + host->size - begin);
    view.append(nullptr, 0, static_cast<std::byte*>(as_pointer(begin)), run);
    begin += run;
    size -= run;
  }
  return view;
}

}  // namespace nvs::sim
