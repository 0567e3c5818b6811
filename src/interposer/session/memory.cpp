// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/memory.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include <limits.h>

#include "interposer/memory/account.h"
#include "interposer/memory/fixed.h"
#include "interposer/memory/graph_room.h"
#include "interposer/memory/swap/free_like_driver.h"
#include "interposer/memory/swap/host.h"
#include "interposer/memory/swap/known.h"
#include "interposer/memory/swap/lane.h"
#include "interposer/memory/swap/mover.h"
#include "interposer/memory/swap/ordered_pools.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/reach.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/solid.h"
#include "interposer/memory/swap/views.h"
#include "interposer/memory/unified/allocate.h"
#include "interposer/memory/unified/bring.h"
#include "interposer/memory/unified/claim.h"
#include "interposer/memory/unified/use.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"

namespace nvs::interposer::session {
namespace {

// How long a program's first allocation waits for the daemon's word.
constexpr std::int64_t kPatience_ns = 1'000'000'000;

enum Known : std::uint32_t { kUnused, kAsked, kYes, kNo };
constinit std::atomic<std::uint32_t> known[gate::kGpusMax] = {};  // futexes

constinit std::atomic<bool> any_asked{false};

constinit os::FutexLock tell_lock;  // what is told last must be what was so last
constinit wire::Holds told[gate::kGpusMax] = {};
constinit bool is_told[gate::kGpusMax] = {};
constinit bool is_named[gate::kGpusMax] = {};  // this daemon knows the GPU's number

void decide(int gpu, Known what) {
  known[gpu].store(what, std::memory_order_release);
  os::futex_wake(reinterpret_cast<const volatile std::uint32_t*>(&known[gpu]), INT_MAX);
}

// None of it moves any more, and none of it has to. What the driver moves itself is not ours to
// tell of.
void become_fixed(int gpu, wire::Holds& message) {
  message.flags |= wire::u32{wire::kFaulted};
  message.fixed += swap::on_device(gpu) - unified::resident(gpu);
  message.resident = message.away = message.asked = message.clean = 0;
}

// Work elsewhere on it makes its place here worth having, though nothing runs here (ADR 29).
bool is_reached(int gpu) { return (swap::reached_by(gpu) & ~(1U << gpu)) != 0; }

// What is on its way, in or out, counts as away until it is there, so that nobody takes us for
// complete; unless we have more than we may: then it counts as taken.
wire::Holds holds_of(int gpu) {
  wire::Holds message;
  message.ordinal = static_cast<wire::u32>(gpu);
  {
    const os::FutexGuard guard(swap::lock);
    const swap::Room& room = swap::rooms[gpu];
    const vmm::Sums sums = swap::regions.sums(gpu);
    const bool is_above = swap::on_device(gpu) > swap::allowance(gpu);
    message.flags = room.is_short ? wire::u32{wire::kShort} : 0U;
    if (swap::staying(gpu) > 0) message.flags |= wire::u32{wire::kStays};
    message.number = room.number;
    const std::uint64_t moving = sums.leaving + sums.coming;
    message.resident =
        sums.resident + room.backing + (is_above ? moving : 0) + unified::resident(gpu);
    message.away = sums.away() + (is_above ? 0 : moving) + unified::away(gpu);
    message.asked = room.asked;
    message.clean = sums.clean;
    message.host = sums.host;
    message.copied_out = room.copied_out;
    message.copied_in = room.copied_in;
    message.fixed = swap::regions.pinned(gpu).total();
    if (room.is_faulted) become_fixed(gpu, message);
  }
  message.fixed += memory::fixed_on(gpu);
  message.early = std::min(memory::graphs::early_bytes(gpu), message.fixed);
  message.managed = memory::managed_on(gpu);
  if (is_reached(gpu)) message.flags |= wire::u32{wire::kReached};
  if (unified::is_used(gpu)) message.flags |= wire::u32{wire::kUnified};
  return message;
}

bool stands_still(const Gpu& one) {
  if (one.phase == Phase::closed) return !one.unsettled;
  return one.phase == Phase::unused || one.phase == Phase::faulted;
}

bool is_same(const wire::Holds& a, const wire::Holds& b) {
  return __builtin_memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

bool has_daemon(int gpu) {
  const std::uint32_t now = known[gpu].load(std::memory_order_acquire);
  if (now == kAsked) {
    os::futex_wait(reinterpret_cast<const volatile std::uint32_t*>(&known[gpu]), kAsked,
                   kPatience_ns);
    std::uint32_t still = kAsked;
    known[gpu].compare_exchange_strong(still, kYes);
  }
  if (known[gpu].load(std::memory_order_acquire) != kYes) return false;
  swap::wait_for_word(gpu);
  return true;
}

bool has_any_daemon() { return any_asked.load(std::memory_order_acquire); }

bool may_be_movable() {
  if (!has_any_daemon()) return false;
  for (const auto& one : known) {
    const std::uint32_t now = one.load(std::memory_order_relaxed);
    if (now == kAsked || now == kYes) return true;
  }
  return false;
}

void tell_holds(int gpu) {
  if (known[gpu].load(std::memory_order_acquire) != kYes || !connection::is_connected()) return;
  const os::FutexGuard guard(tell_lock);
  if (!is_named[gpu]) return;
  const wire::Holds message = holds_of(gpu);
  if (is_told[gpu] && is_same(message, told[gpu])) return;
  is_told[gpu] = connection::send(message) == connection::Outcome::done;
  told[gpu] = message;
}

void tell_all_holds() {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) tell_holds(gpu);
}

ClosedGates::ClosedGates(std::uint32_t which) : is_so_(true) {
  lock.lock();
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if ((which & (1U << gpu)) != 0) is_so_ = is_so_ && stands_still(gpus[gpu]);
  }
}

// Who uses it is asked with the lock held: once the owner's gate is closed nobody joins them.
ClosedGates::ClosedGates(Owner owner) : is_so_(true) {
  lock.lock();
  const auto of = static_cast<int>(owner);
  for (std::uint32_t left = swap::touched_by(of); left != 0; left &= left - 1) {
    const int gpu = std::countr_zero(left);
    const bool may_work = swap::has_crossed(of, gpu) && gpus[gpu].phase != Phase::unused;
    is_so_ = is_so_ && stands_still(gpus[gpu]) && !may_work;
  }
}

ClosedGates::~ClosedGates() { lock.unlock(); }

bool begin_window(int gpu) { return swap::begin_window(gpu) && unified::is_complete(gpu); }

void memory_is_complete(int gpu) {
  tell_holds(gpu);
  memory_rests();
}

// All of them: a GPU may wait for memory of another one, because it can reach that. What is not
// there yet is not disturbed, or whoever moves it would be woken up for nothing.
void open_complete() {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    const bool waits = gpus[gpu].opens_alone && gpus[gpu].phase == Phase::closed;
    if (waits && begin_window(gpu)) open_alone(gpu);
  }
}

void memory_rests() {
  const os::FutexGuard guard(lock);
  open_complete();
}

void set_allowance(const wire::Allow& message) {
  const auto gpu = static_cast<int>(message.ordinal);
  bool is_crowded = false;
  // Before the mover hears of it, which copies what it finds.
  swap::make_room_above(gpu, message.bytes);
  {
    const os::FutexGuard guard(swap::lock);
    swap::Room& room = swap::rooms[gpu];
    if (message.number <= room.number) return;
    room.number = message.number;
    room.allowed = message.bytes;
    room.is_short = false;  // by the word before
    room.shared = (message.flags & wire::kShared) != 0;
    room.is_crowded = room.is_crowded || swap::has_little_room(gpu);
    is_crowded = room.is_crowded;
    swap::changed(gpu);
  }
  tell_holds(gpu);
  // Not before it is needed: making host memory known to the driver holds the program up.
  if (!is_crowded) return;
  swap::start_mover(gpu);
  swap::start_host_thread();
}

void set_visible(const wire::Visible& message) {
  const auto gpu = static_cast<int>(message.ordinal);
  const os::FutexGuard guard(swap::lock);
  swap::Room& room = swap::rooms[gpu];
  room.total = message.total;
  room.limit = message.limit;
  swap::changed(gpu);
}

// Others that hold more for good may leave too little for what we have and what graphs were
// promised; with both we would never be complete again. For a moment it looks so whenever what we
// have just taken and a word of the daemon's cross.
void memory_lacks(int gpu) {
  static std::uint32_t lacked = 0;  // when it was asked last
  const std::uint32_t bit = 1U << gpu;
  std::uint64_t lacks = 0;
  {
    const os::FutexGuard guard(swap::lock);
    lacks = swap::lacking(gpu, 0);
  }
  const bool lasts = lacks != 0 && (lacked & bit) != 0;
  lacked = lacks != 0 ? lacked | bit : lacked & ~bit;
  if (lasts && memory::graphs::give_up_promises(gpu, lacks)) tell_holds(gpu);
}

void memory_numbered(const wire::GpuKnown& message) {
  const auto gpu = static_cast<int>(message.ordinal);
  if (message.known != 0) {
    account::gpu_numbered(gpu, message.gpu);
  } else {
    account::gpu_unknown(gpu);
  }
}

void memory_known(int gpu, bool is_known) {
  if (known[gpu].load(std::memory_order_relaxed) == kAsked) decide(gpu, is_known ? kYes : kNo);
  if (is_known) tell_holds(gpu);
}

void memory_announces(int gpu) {
  std::uint32_t first = kUnused;
  known[gpu].compare_exchange_strong(first, kAsked);
  any_asked.store(true, std::memory_order_release);
}

void memory_announced(int gpu) {
  {
    const os::FutexGuard guard(tell_lock);
    is_told[gpu] = false;
    is_named[gpu] = true;
  }
  // A daemon that comes back hears of memory that is away before anybody wants a window.
  tell_holds(gpu);
}

void memory_alone(int gpu) {
  {
    const os::FutexGuard guard(tell_lock);
    is_named[gpu] = false;
  }
  std::uint32_t asked = kAsked;
  if (known[gpu].compare_exchange_strong(asked, kNo)) decide(gpu, kNo);
  const os::FutexGuard guard(swap::lock);
  swap::Room& room = swap::rooms[gpu];
  room.number = 0;
  room.is_free = true;
  room.is_short = false;
  swap::changed(gpu);
}

void memory_start_over_in_child() {
  tell_lock.reset();
  for (auto& one : known) one.store(kUnused, std::memory_order_relaxed);
  any_asked.store(false, std::memory_order_relaxed);
  for (bool& one : is_told) one = false;
  for (bool& one : is_named) one = false;
  account::start_over_in_child();
  swap::start_over_in_child();
  swap::forget_movers_in_child();
  swap::forget_lanes_in_child();
  swap::forget_host_in_child();
  swap::forget_known_in_child();
  swap::forget_scraps_in_child();
  swap::forget_peers_in_child();
  swap::forget_views_in_child();
  swap::forget_solid_in_child();
  swap::forget_ordered_in_child();
  swap::forget_pools_in_child();
  unified::forget_bringing_in_child();
  unified::forget_use_in_child();
  unified::forget_allocations_in_child();
}

}  // namespace nvs::interposer::session
