// SPDX-License-Identifier: Apache-2.0
// The books' part for limits: what the process has of each device, where others can read it.
#include <atomic>

#include "interposer/memory/books.h"

namespace nvs::interposer::memory {
namespace {

constexpr bool is_charged(int device) { return device >= 0 && device < kDevicesMax; }

// Whole numbers and not differences: whoever has cleared the place while we were there has the
// truth again with the next change. In one order with what other processes write and read.
void write_to(std::uint64_t* place, std::uint64_t bytes) {
  if (place != nullptr) std::atomic_ref(*place).store(bytes, std::memory_order_seq_cst);
}

}  // namespace

int Books::device_of(const Allocation& allocation, std::size_t row) const {
  const int reserved = allocation.reserved.device;
  return reserved != kUnknownDevice ? reserved : rows_[row].device;
}

void Books::charge(int device, std::uint64_t more, std::uint64_t less) {
  if (more == less || !is_charged(device)) return;
  charged_[device] += more - less;
  write_to(kept_at_[device], charged_[device]);
}

void Books::charge(const Record& record) {
  if (record.piece == 0) return charge(record.device, record.charged, 0);
  pieces_.hold(record.piece, record.device, record.charged, map_);
}

void Books::discharge(const Record& record) {
  if (record.piece == 0) return charge(record.device, 0, record.charged);
  pieces_.drop(record.piece);
}

std::uint64_t* Books::keep_at(int device, std::uint64_t* place) {
  const os::FutexGuard guard{lock_};
  if (!is_charged(device)) return nullptr;
  std::uint64_t* const before = kept_at_[device];
  kept_at_[device] = place;
  write_to(place, charged_[device]);
  return before;
}

std::uint64_t* Books::reserve(int device, std::uint64_t bytes) {
  const os::FutexGuard guard{lock_};
  charge(device, bytes, 0);
  return is_charged(device) ? kept_at_[device] : nullptr;
}

void Books::cancel(const Reserved& reserved) {
  const os::FutexGuard guard{lock_};
  charge(reserved.device, 0, reserved.bytes);
}

Reserved Books::set_aside(Space space, std::uint64_t id) {
  const os::FutexGuard guard{lock_};
  Record* const record = find(space, id);
  if (record == nullptr || record->piece != 0) return {};
  const Reserved kept{record->device, record->charged};
  uncount(*record);
  records_.erase(record);
  return kept;
}

std::uint64_t Books::charged(int device) const {
  const os::FutexGuard guard{lock_};
  return is_charged(device) ? charged_[device] : 0;
}

// Without an account there is nowhere to count it twice, so that it becomes one at once; in a full
// account it stays on that of the process.
PieceName Books::share(Space space, std::uint64_t id, PieceName name) {
  const os::FutexGuard guard{lock_};
  Record* const record = find(space, id);
  if (record == nullptr || record->piece != 0) return record != nullptr ? record->piece : 0;
  if (record->charged == 0 || !is_charged(record->device)) return 0;
  const Held held = pieces_.hold(name, record->device, record->charged, map_);
  if (held == Held::nowhere && kept_at_[record->device] != nullptr) {
    pieces_.drop(name);
    return 0;
  }
  record->piece = name;
  charge(record->device, 0, record->charged);
  return name;
}

Held Books::hold_piece(PieceName name, int device, std::uint64_t bytes) {
  const os::FutexGuard guard{lock_};
  return pieces_.hold(name, device, bytes, map_);
}

void Books::drop_piece(PieceName name) {
  const os::FutexGuard guard{lock_};
  pieces_.drop(name);
}

std::uint64_t Books::piece_bytes(PieceName name) const {
  const os::FutexGuard guard{lock_};
  return pieces_.bytes_of(name);
}

bool Books::find_unsized(std::uint64_t vmm_handle, PieceName& name, int& device) const {
  const os::FutexGuard guard{lock_};
  const Record* const record = find(Space::vmm_handle, vmm_handle);
  if (record == nullptr || record->piece == 0 || pieces_.bytes_of(record->piece) != 0) return false;
  name = record->piece;
  device = record->device;
  return true;
}

bool Books::learn_piece_bytes(PieceName name, std::uint64_t bytes) {
  const os::FutexGuard guard{lock_};
  return pieces_.learn_bytes(name, bytes);
}

void Books::forget_piece_bytes(PieceName name) {
  const os::FutexGuard guard{lock_};
  pieces_.forget_bytes(name);
}

void Books::keep_pieces_at(wire::AccountPieces* file, std::uint32_t slot) {
  const os::FutexGuard guard{lock_};
  pieces_.keep_at(file, slot);
}

void Books::number_pieces(int device, int number) {
  const os::FutexGuard guard{lock_};
  pieces_.number(device, number);
}

}  // namespace nvs::interposer::memory
