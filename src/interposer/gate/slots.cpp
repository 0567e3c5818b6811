// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/slots.h"

#include <errno.h>

#include "interposer/gate/backoff.h"
#include "interposer/resolve/libc.h"
#include "os/linux_calls.h"

namespace nvs::interposer::gate {
namespace {

constinit Slot slots[kSlotsMax] = {};
constinit Slot captured_slots[kSlotsMax] = {};
constinit std::atomic<std::uint32_t> used{0};

constexpr std::uint32_t kNoKey = ~0U;
constinit std::atomic<std::uint32_t> exit_key{kNoKey};

// Somebody is taking a dead thread's slot back; never a thread id.
constexpr std::uint64_t kBeingReclaimed = ~std::uint64_t{0};

constexpr int thread_of(std::uint64_t owner) { return static_cast<int>(owner & 0xffffffffU); }

std::uint64_t new_owner(int thread) {
  static constinit std::atomic<std::uint32_t> given_out{0};
  const std::uint64_t number = given_out.fetch_add(1, std::memory_order_relaxed);
  return (number << 32U) | static_cast<std::uint32_t>(thread);
}

// Grows whenever a slot becomes free: a thread that got none asks again only then.
constinit std::atomic<std::uint32_t> freed{1};
constinit thread_local std::uint32_t freed_when_refused __attribute__((tls_model("initial-exec"))) =
    0;

void make_free(Slot& slot) {
  captured_slot(slot).inside.store(0, std::memory_order_relaxed);
  slot.submits_to.store(0, std::memory_order_relaxed);
  slot.stream.store(nullptr, std::memory_order_relaxed);
  slot.inside.store(0, std::memory_order_relaxed);
  slot.owner.store(0, std::memory_order_release);
  freed.fetch_add(1, std::memory_order_release);
}

// Runs when a thread ends by whatever way libc knows, cancellation in the middle of a call
// included: its stack is gone by then, so it is inside nothing. Destructors of others may call the
// driver after this; they get a slot anew, and another round of destructors.
void free_slot(void* argument) {
  auto* slot = static_cast<Slot*>(argument);
  if (slot != thread_slot) return;  // the parent's, in the child of a fork
  thread_slot = nullptr;
  make_free(*slot);
}

void call_at_thread_exit(Slot* slot) {
  std::uint32_t key = exit_key.load(std::memory_order_acquire);
  if (key == kNoKey) {
    pthread_key_t fresh = 0;
    if (!libc::key_create(&fresh, &free_slot)) return;
    // Two threads may make one each; the second key stays unused.
    if (exit_key.compare_exchange_strong(key, fresh, std::memory_order_acq_rel)) key = fresh;
  }
  libc::set_specific(key, slot);
}

// Whoever changes the owner may clear the mark; nobody else has it in his hands then.
bool reclaim(Slot& slot, std::uint64_t owner) {
  if (!slot.owner.compare_exchange_strong(owner, kBeingReclaimed, std::memory_order_acq_rel)) {
    return false;
  }
  make_free(slot);
  return true;
}

void raise_used(std::uint32_t count) {
  std::uint32_t seen = used.load(std::memory_order_relaxed);
  while (seen < count && !used.compare_exchange_weak(seen, count, std::memory_order_seq_cst)) {
  }
}

Slot* find_free(int thread) {
  const std::uint64_t owner = new_owner(thread);
  for (std::uint32_t i = 0; i < kSlotsMax; ++i) {
    std::uint64_t nobody = 0;
    if (slots[i].owner.load(std::memory_order_relaxed) != 0) continue;
    if (slots[i].owner.compare_exchange_strong(nobody, owner, std::memory_order_acq_rel)) {
      raise_used(i + 1);
      return &slots[i];
    }
  }
  return nullptr;
}

// The thread that owns a slot with this thread's id died without a word, and its id went on to us.
void reclaim_own(int thread) {
  const std::uint32_t count = used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t owner = slots[i].owner.load(std::memory_order_relaxed);
    if (owner != 0 && thread_of(owner) == thread) reclaim(slots[i], owner);
  }
}

bool reclaim_any() {
  bool any = false;
  for (Slot& slot : slots) any = reclaim_if_dead(slot) || any;
  return any;
}

}  // namespace

constinit thread_local Slot* thread_slot = nullptr;

Slot* take_slot() {
  const std::uint32_t freed_now = freed.load(std::memory_order_acquire);
  if (freed_when_refused == freed_now) return nullptr;
  const int thread = os::thread_id();
  reclaim_own(thread);
  Slot* slot = find_free(thread);
  const bool first_time = freed_when_refused == 0;
  if (slot == nullptr && first_time && reclaim_any()) slot = find_free(thread);
  if (slot == nullptr) {
    freed_when_refused = freed_now;
    return nullptr;
  }
  thread_slot = slot;
  call_at_thread_exit(slot);
  return slot;
}

std::uint32_t slots_used() { return used.load(std::memory_order_seq_cst); }

Slot& slot_at(std::uint32_t index) { return slots[index]; }

Slot& captured_slot(const Slot& slot) { return captured_slots[&slot - slots]; }

bool is_captured_marked() {
  const std::uint32_t count = slots_used();
  for (std::uint32_t i = 0; i < count; ++i) {
    const bool is_marked = captured_slots[i].inside.load(std::memory_order_acquire) != 0;
    if (is_marked && !reclaim_if_dead(slots[i])) return true;
  }
  return false;
}

void wait_until_unused(CUstream stream) {
  constexpr std::int64_t kPatience_ns = 50'000'000;
  const Deadline deadline(kPatience_ns);
  const std::uint32_t count = slots_used();
  for (std::uint32_t i = 0; i < count; ++i) {
    const Slot& slot = slots[i];
    const auto is_used = [&slot, stream] {
      return slot.inside.load(std::memory_order_acquire) != 0 &&
             slot.stream.load(std::memory_order_acquire) == stream;
    };
    Backoff backoff;
    while (&slot != thread_slot && is_used() && !deadline.is_over()) backoff.pause();
  }
}

bool reclaim_if_dead(Slot& slot) {
  const std::uint64_t owner = slot.owner.load(std::memory_order_acquire);
  if (owner == 0 || owner == kBeingReclaimed) return false;
  if (os::probe_thread(os::process_id(), thread_of(owner)) != -ESRCH) return false;
  return reclaim(slot, owner);
}

void forget_slots() {
  const std::uint32_t count = used.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < count; ++i) {
    captured_slots[i].inside.store(0, std::memory_order_relaxed);
    slots[i].submits_to.store(0, std::memory_order_relaxed);
    slots[i].stream.store(nullptr, std::memory_order_relaxed);
    slots[i].inside.store(0, std::memory_order_relaxed);
    slots[i].owner.store(0, std::memory_order_relaxed);
  }
  used.store(0, std::memory_order_relaxed);
  thread_slot = nullptr;
  freed_when_refused = 0;
}

}  // namespace nvs::interposer::gate
