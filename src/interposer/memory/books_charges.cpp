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

std::uint64_t Books::charged(int device) const {
  const os::FutexGuard guard{lock_};
  return is_charged(device) ? charged_[device] : 0;
}

}  // namespace nvs::interposer::memory
