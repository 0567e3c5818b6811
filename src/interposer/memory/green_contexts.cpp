// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/green_contexts.h"

#include "interposer/memory/records.h"
#include "interposer/memory/slot_table.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory {
namespace {

struct Green {
  CUgreenCtx handle;
  int device;

  bool used() const { return handle != nullptr; }
  std::uint64_t hash() const { return spread(reinterpret_cast<std::uintptr_t>(handle)); }
  bool same_key(const Green& other) const { return handle == other.handle; }
};

constinit os::FutexLock lock;  // guards the table
constinit SlotTable<Green> table;

// With the lock held.
int take_out(CUgreenCtx green) {
  Green* const known = green != nullptr ? table.find({green, 0}) : nullptr;
  if (known == nullptr) return kUnknownDevice;
  const int device = known->device;
  table.erase(known);
  return device;
}

}  // namespace

// One that had the handle before is gone: a reset of its GPU ends all without a word.
void green_created(CUgreenCtx green, int device) {
  if (green == nullptr) return;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  take_out(green);
  table.insert({green, device}, &os::map_pages);
}

int take_green(CUgreenCtx green) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  return take_out(green);
}

void forget_greens_in_child() {
  lock.reset();
  table.forget();
}

}  // namespace nvs::interposer::memory
