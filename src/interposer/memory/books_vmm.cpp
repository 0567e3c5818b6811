// SPDX-License-Identifier: Apache-2.0
// The books' part for virtual memory management: handles live until neither references nor mappings
// are left.
#include "interposer/memory/books.h"

namespace nvs::interposer::memory {

void Books::mapped(std::uint64_t begin, std::uint64_t size, std::uint64_t vmm_handle) {
  const os::FutexGuard guard{lock_};
  Record* record = find(Space::vmm_handle, vmm_handle);
  if (record == nullptr || size == 0) return;  // a multicast object, which holds no memory itself
  learn_size(*record, size);
  Mapping mapping;
  mapping.begin = begin;
  mapping.size = size;
  mapping.handle = vmm_handle;
  mapping.handle_birth = record->birth;
  mapping.birth = ++births_;
  ++record->mappings;
  // If the driver maps here anew, an older mapping is gone; its unmapping has not reached us yet.
  if (Mapping* old = mappings_.find(mapping)) {
    const Mapping gone = *old;
    *old = mapping;
    drop_handle_mapping(gone);
  } else if (mappings_.insert(mapping, map_) == nullptr) {
    incomplete_ = true;
    drop_handle_mapping(mapping);
  }
  mapping_bits_ |= begin | size;
}

void Books::unmapped(std::uint64_t begin, std::uint64_t size, Birth before) {
  const os::FutexGuard guard{lock_};
  if (mappings_.size() == 0) return;
  const std::uint64_t end = begin + size;
  const std::uint64_t step = mapping_bits_ & -mapping_bits_;
  if (size / step <= mappings_.capacity()) {
    unmap_step_by_step(begin, end, before);
    return;
  }
  mappings_.erase_if([&](const Mapping& mapping) {
    const bool inside = mapping.begin >= begin && mapping.begin + mapping.size <= end;
    if (!inside || mapping.birth > before) return false;
    drop_handle_mapping(mapping);
    return true;
  });
}

// Looks wherever a mapping could begin: cheaper than a look at all of them if the range is small.
void Books::unmap_step_by_step(std::uint64_t begin, std::uint64_t end, Birth before) {
  const std::uint64_t step = mapping_bits_ & -mapping_bits_;
  std::uint64_t place = (begin + step - 1) & ~(step - 1);
  while (place < end) {
    Mapping wanted;
    wanted.begin = place;
    place += step;
    Mapping* found = mappings_.find(wanted);
    if (found == nullptr || found->birth > before) continue;
    const Mapping mapping = *found;
    if (mapping.begin + mapping.size > end) continue;
    mappings_.erase(found);
    drop_handle_mapping(mapping);
    place = mapping.begin + mapping.size;
  }
}

void Books::drop_handle_mapping(const Mapping& mapping) {
  Record* record = find(Space::vmm_handle, mapping.handle);
  if (record == nullptr || record->birth != mapping.handle_birth) return;
  --record->mappings;
  if (record->references == 0 && record->mappings == 0) {
    discount(*record);
    records_.erase(record);
  }
}

// Nobody says how large an imported handle is; but only whole handles can be mapped.
void Books::learn_size(Record& record, std::uint64_t bytes) {
  if (record.bytes != 0) return;
  record.bytes = bytes;
  OwnerRow& row = rows_[record.row];
  row.of(record.kind).grow(bytes);
  row.all.grow(bytes);
  if (!is_ours(record)) return;
  totals_.grow(bytes);
  record.charged = bytes;
  charge(record.device, bytes, 0);
}

}  // namespace nvs::interposer::memory
