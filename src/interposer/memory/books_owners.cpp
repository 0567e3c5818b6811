// SPDX-License-Identifier: Apache-2.0
// The books' part for contexts and devices: whose memory it is, and what goes with them.
#include "interposer/memory/books.h"

namespace nvs::interposer::memory {
namespace {

RowUse use_of(const Owner& owner) {
  return owner.type == OwnerType::device ? RowUse::device : RowUse::context;
}

bool is_row_of(const OwnerRow& row, const Owner& owner) {
  if (row.value != owner.value) return false;
  if (owner.type == OwnerType::device) return row.use == RowUse::device;
  return row.use == RowUse::context || row.use == RowUse::primary_context;
}

constexpr bool remembers(int device) { return device >= 0 && device < kDevicesMax; }

}  // namespace

void Books::context_created(std::uint64_t context, int device) {
  const os::FutexGuard guard{lock_};
  const Owner owner{OwnerType::context, context};
  std::size_t index = 0;
  if (find_row(owner, index)) {
    drop_records_of(owner, births_);
    rows_[index] = OwnerRow{};
  }
  make_row(owner, device);
}

bool Books::primary_retained(std::uint64_t context, int device) {
  const os::FutexGuard guard{lock_};
  if (remembers(device)) primaries_[device] = context;
  const Owner owner{OwnerType::context, context};
  std::size_t index = 0;
  if (find_row(owner, index)) return false;
  make_row(owner, device);
  return true;
}

std::uint64_t Books::primary_of(int device) const {
  const os::FutexGuard guard{lock_};
  return remembers(device) ? primaries_[device] : 0;
}

bool Books::ended(Owner owner, Birth before, OwnerRow& last) {
  const os::FutexGuard guard{lock_};
  std::size_t index = kSharedRow;
  const bool has_row = find_row(owner, index);
  if (has_row) last = rows_[index];
  drop_records_of(owner, before);
  // What is left is younger: of a new context, which got the handle of the one that ended.
  if (has_row && rows_[index].all.count_now == 0) rows_[index] = OwnerRow{};
  return has_row;
}

void Books::drop_records_of(const Owner& owner, Birth before) {
  records_.erase_if([&](const Record& record) {
    if (!(record.owner() == owner) || record.birth > before) return false;
    discount(record);
    return true;
  });
}

bool Books::find_row(const Owner& owner, std::size_t& index) const {
  for (std::size_t i = 0; i < kOwnersMax; ++i) {
    if (!is_row_of(rows_[i], owner)) continue;
    index = i;
    return true;
  }
  return false;
}

bool Books::find_free_row(std::size_t& index) const {
  for (std::size_t i = 0; i < kOwnersMax; ++i) {
    if (rows_[i].use != RowUse::free) continue;
    index = i;
    return true;
  }
  return false;
}

std::size_t Books::make_row(const Owner& owner, int device) {
  std::size_t index = kSharedRow;
  if (!find_free_row(index)) {
    rows_[kSharedRow].use = RowUse::others;
    return kSharedRow;
  }
  OwnerRow& row = rows_[index];
  row.use = use_of(owner);
  row.device = device;
  row.value = owner.value;
  const bool is_primary =
      row.use == RowUse::context && remembers(device) && primaries_[device] == owner.value;
  if (is_primary) row.use = RowUse::primary_context;
  return index;
}

}  // namespace nvs::interposer::memory
