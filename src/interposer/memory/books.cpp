// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/books.h"

namespace nvs::interposer::memory {
namespace {

constinit Books process_books;

void add(Counts& counts, std::uint64_t bytes, std::uint64_t allocations) {
  counts.grow(bytes);
  ++counts.count_now;
  counts.allocations += allocations;
}

void subtract(Counts& counts, std::uint64_t bytes) {
  counts.bytes_now -= bytes;
  --counts.count_now;
}

}  // namespace

Books& books() { return process_books; }

void books_after_fork() { process_books.after_fork(); }

bool Books::allocated(const Allocation& allocation) {
  const os::FutexGuard guard{lock_};
  std::size_t row = kSharedRow;
  if (!find_row(allocation.owner, row)) {
    if (find_free_row(row)) return false;
    rows_[kSharedRow].use = RowUse::others;  // and there is no need to know the owner's device
  }
  write_down(allocation, row);
  return true;
}

void Books::allocated(const Allocation& allocation, int owner_device) {
  const os::FutexGuard guard{lock_};
  std::size_t row = kSharedRow;
  if (!find_row(allocation.owner, row)) row = make_row(allocation.owner, owner_device);
  write_down(allocation, row);
}

void Books::write_down(const Allocation& allocation, std::size_t row) {
  const int device = device_of(allocation, row);
  std::uint64_t less = allocation.reserved.bytes;
  if (Record* known = find(allocation.space, allocation.id)) {
    if (allocation.again == Again::adds_reference && known->kind == allocation.kind) {
      ++known->references;
      charge(device, 0, less);
      pieces_.drop(allocation.piece);  // the record holds it
      return;
    }
    uncount(*known);
    // What takes its place on the same account does so without a moment in between.
    if (known->device == device && known->piece == 0) {
      less += known->charged;
    } else {
      discharge(*known);
    }
    records_.erase(known);
  }
  const Record record = record_of(allocation, row);
  if (records_.insert(record, map_) == nullptr) {
    incomplete_ = true;
    charge(device, 0, less);  // nobody would ever give it back
    pieces_.drop(allocation.piece);
    return;
  }
  count(record, 1);
  charge(device, record.piece == 0 ? record.charged : 0, less);
}

Record Books::record_of(const Allocation& allocation, std::size_t row) {
  Record record;
  record.id = allocation.id;
  record.bytes = allocation.bytes;
  record.owner_value = allocation.owner.value;
  record.owner_type = allocation.owner.type;
  record.birth = ++births_;
  record.references = 1;
  record.space = allocation.space;
  record.kind = allocation.kind;
  record.row = static_cast<std::uint8_t>(row);
  record.device = static_cast<std::int16_t>(device_of(allocation, row));
  record.piece = allocation.piece;
  if (is_ours(record) || record.piece != 0) {
    record.charged = allocation.asked != 0 ? allocation.asked : allocation.bytes;
  }
  return record;
}

Taken Books::take(Space space, std::uint64_t id) {
  const os::FutexGuard guard{lock_};
  Taken taken;
  Record* record = find(space, id);
  if (record == nullptr || record->references == 0) return taken;
  taken.record = *record;
  --record->references;
  if (record->references == 0 && record->mappings == 0) {
    discount(*record);
    records_.erase(record);
  }
  return taken;
}

void Books::put_back(const Taken& taken) {
  if (!taken.record.used()) return;
  const os::FutexGuard guard{lock_};
  if (Record* known = find(taken.record.space, taken.record.id)) {
    if (known->birth == taken.record.birth) ++known->references;
    return;
  }
  // The owner may have ended meanwhile, and its memory with it.
  std::size_t row = kSharedRow;
  if (!find_row(taken.record.owner(), row) && taken.record.row != kSharedRow) return;
  Record record = taken.record;
  record.row = static_cast<std::uint8_t>(row);
  record.references = 1;
  record.mappings = 0;
  if (records_.insert(record, map_) == nullptr) {
    incomplete_ = true;
    return;
  }
  count(record, 0);
  charge(record);
}

void Books::retained(std::uint64_t vmm_handle) {
  const os::FutexGuard guard{lock_};
  if (Record* record = find(Space::vmm_handle, vmm_handle)) ++record->references;
}

Birth Books::now() const {
  const os::FutexGuard guard{lock_};
  return births_;
}

Birth Books::birth_of(Space space, std::uint64_t id) const {
  const os::FutexGuard guard{lock_};
  const Record* record = find(space, id);
  return record != nullptr ? record->birth : 0;
}

bool Books::find_record(Space space, std::uint64_t id, Record& record, int& device) const {
  const os::FutexGuard guard{lock_};
  const Record* found = find(space, id);
  if (found == nullptr) return false;
  record = *found;
  device = rows_[found->row].device;
  return true;
}

std::size_t Books::list(MemoryKind kind, int device, std::size_t& cursor, Record* records,
                        std::size_t most) const {
  const os::FutexGuard guard{lock_};
  std::size_t found = 0;
  for (; cursor < records_.capacity() && found < most; ++cursor) {
    const Record& record = records_.at(cursor);
    const bool is_wanted = record.used() && record.kind == kind && record.device == device;
    if (is_wanted) records[found++] = record;
  }
  return found;
}

bool Books::row(std::size_t index, OwnerRow& row) const {
  const os::FutexGuard guard{lock_};
  if (rows_[index].use == RowUse::free) return false;
  row = rows_[index];
  return true;
}

Counts Books::totals() const {
  const os::FutexGuard guard{lock_};
  return totals_;
}

bool Books::incomplete() const {
  const os::FutexGuard guard{lock_};
  return incomplete_;
}

void Books::after_fork() {
  lock_.reset();
  incomplete_ = false;
  births_ = 0;
  mapping_bits_ = 0;
  records_.forget();
  mappings_.forget();
  for (std::uint64_t& primary : primaries_) primary = 0;
  for (OwnerRow& row : rows_) row = OwnerRow{};
  totals_ = Counts{};
  for (std::uint64_t& bytes : charged_) bytes = 0;
  for (std::uint64_t*& place : kept_at_) place = nullptr;
  pieces_.forget();
}

Record* Books::find(Space space, std::uint64_t id) const {
  Record wanted;
  wanted.space = space;
  wanted.id = id;
  return records_.find(wanted);
}

bool Books::is_ours(const Record& record) const {
  if (facts_of(record.kind).ownership != Ownership::own) return false;
  return !(record.owner() == device_owner(kHostDevice));
}

void Books::count(const Record& record, std::uint64_t allocations) {
  OwnerRow& row = rows_[record.row];
  add(row.of(record.kind), record.bytes, allocations);
  add(row.all, record.bytes, allocations);
  if (is_ours(record)) add(totals_, record.bytes, allocations);
}

void Books::discount(const Record& record) {
  uncount(record);
  discharge(record);
}

void Books::uncount(const Record& record) {
  OwnerRow& row = rows_[record.row];
  subtract(row.of(record.kind), record.bytes);
  subtract(row.all, record.bytes);
  if (is_ours(record)) subtract(totals_, record.bytes);
}

}  // namespace nvs::interposer::memory
