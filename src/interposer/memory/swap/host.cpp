// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/host.h"

#include <utility>

#include <sys/mman.h>

#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/swap/host_return.h"
#include "interposer/memory/swap/known.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/vmm/host_spare.h"
#include "interposer/memory/vmm/plan.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/memory.h"
#include "interposer/session/thread.h"
#include "os/linux_calls.h"

namespace nvs::interposer::swap {
namespace {

// A memfd that has come and is not mapped yet; or cannot be, and is to go back.
struct Lent {
  std::uint64_t number;  // the daemon's; 0: of one that is gone
  std::uint64_t bytes;
  int file;                     // kUnusable: closed
  std::uint64_t mapped_at = 0;  // of one that is to go back
};
constexpr int kUnusable = -1;
constexpr int kLentMax = 1024;

// What is asked for at a time: little enough that it is there soon.
constexpr std::uint64_t kAskUnit = 64 * vmm::kMiB;
constexpr std::int64_t kIdle_ns = 100'000'000;
constexpr std::int64_t kDenied_ns = 1'000'000'000;
// While the driver gets to know a piece, nothing can be submitted, and it takes five times as long
// where another process has it get to know some too. So much longer nothing is done where the gate
// is open: the program's queue fills again, and what is left has time until it is closed.
constexpr int kPauses = 10;
constexpr std::int64_t kNotNow_ns = 1'000'000;
// So long after a shortage nothing is asked for ahead of time: it would have to go back at the next
// exchange.
constexpr std::int64_t kAfterShort_ns = 10'000'000'000;
// What was not wanted for so long goes back; programs that free memory often allocate it again.
constexpr std::int64_t kSpare_ns = 5'000'000'000;
constexpr std::uint64_t kSparePart = 8;
// A lack is said again.
constexpr std::int64_t kLack_ns = 1'000'000'000;

constinit std::atomic<bool> started{false};
constinit std::atomic<std::uint32_t> wakes{0};  // a futex
constinit std::atomic<bool> is_short{false};

// Guarded by the lock of rooms.h.
constinit Lent lent[kLentMax] = {};
constinit int lent_count = 0;
constinit std::uint64_t segments = 0;  // so far; ours have numbers of their own
constinit std::uint64_t have = 0;      // bytes that are mapped
constinit std::uint64_t expected = 0;  // bytes that are asked for and not mapped yet
constinit std::uint64_t missing = 0;   // bytes that a chunk did not find
constinit std::uint64_t requests = 0;
constinit bool is_denied = false;
constinit std::int64_t ahead_from_ns = 0;  // when something may be asked for ahead of time
constinit std::uint64_t told_lack = 0;
// The thread's own.
constinit std::int64_t tell_lack_ns = 0;  // and then again
constinit vmm::LongSpare long_spare(kSpare_ns);

const volatile std::uint32_t* futex() {
  return reinterpret_cast<const volatile std::uint32_t*>(&wakes);
}

void wake() {
  wakes.fetch_add(1, std::memory_order_release);
  os::futex_wake(futex(), 1);
}

// What there should be: a place for everything that could leave. Holes between chunks of different
// sizes cost something too.
std::uint64_t wanted() {
  std::uint64_t bytes = 0;
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (rooms[gpu].is_crowded) bytes += regions.sums(gpu).total() + rooms[gpu].asked;
  }
  return (bytes + kAskUnit - 1) / kAskUnit * kAskUnit;
}

// With the lock held, these four. What leaves already still needs a place, or has taken one.
std::uint64_t out_of(int gpu) {
  if (rooms[gpu].number == 0) return 0;
  const vmm::Sums sums = regions.sums(gpu);
  return vmm::need_of(sums, rooms[gpu].backing, allowance(gpu)).out + sums.leaving;
}

vmm::HostNeeds needs() {
  const vmm::SpanUsage usage = host_room.usage();
  vmm::HostNeeds sum{.placed = usage.bytes_used,
                     .free = usage.bytes_reserved - usage.bytes_used,
                     .expected = expected,
                     .missing = missing};
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    const std::uint64_t away = regions.sums(gpu).swapped + regions.sums(gpu).coming;
    sum.out += out_of(gpu);
    sum.placed -= away < sum.placed ? away : sum.placed;
  }
  return sum;
}

// What must leave now keeps its places, unless they are of no use to it.
bool drop_spare_places() {
  bool has_dropped = false;
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (out_of(gpu) > 0 && missing == 0) continue;
    has_dropped = vmm::drop_places(regions, host_room, gpu) || has_dropped;
  }
  return has_dropped;
}

// While nobody lacks anything.
std::uint64_t spare_in_peace() {
  const std::uint64_t needed = wanted();
  return long_spare.bytes(have, needed + needed / kSparePart + missing, os::monotonic_ns());
}

void spare() {
  bool has_dropped = false;
  {
    const os::FutexGuard guard(lock);
    const bool is_lacking = is_short.load(std::memory_order_relaxed);
    if (is_lacking) has_dropped = drop_spare_places();
    if (has_dropped) {
      missing = 0;  // until the mover has looked again
      all_changed();
    }
    have -= begin_return(is_lacking ? vmm::spare_of(needs()) : spare_in_peace());
  }
  if (has_dropped) session::tell_all_holds();
}

// The session's lock: a new daemon must have heard of us.
void tell_lack() {
  const os::FutexGuard session_guard(session::lock);
  const os::FutexGuard guard(lock);
  const vmm::HostNeeds now = needs();
  if (now.out == 0) missing = 0;
  const std::uint64_t lack = vmm::lack_of(now);
  const std::int64_t now_ns = os::monotonic_ns();
  if (lack == told_lack && (lack == 0 || now_ns < tell_lack_ns)) return;
  if (connection::send(wire::LackHost{lack}) != connection::Outcome::done) return;
  told_lack = lack;
  tell_lack_ns = now_ns + kLack_ns;
}

void ask() {
  wire::NeedHost message;
  {
    const os::FutexGuard guard(lock);
    if (is_short.load(std::memory_order_relaxed) || os::monotonic_ns() < ahead_from_ns) return;
    const std::uint64_t there = have + expected;
    const std::uint64_t needed = wanted();
    // There may be enough in all and no hole that is large enough.
    const bool has_no_hole = missing > 0 && expected == 0 && needed <= there;
    if (needed <= there && !has_no_hole) return;
    message.bytes = has_no_hole ? kAskUnit : needed - there;
    message.request = ++requests;
    expected += message.bytes;
  }
  if (connection::send(message) == connection::Outcome::done) return;
  const os::FutexGuard guard(lock);
  expected -= message.bytes < expected ? message.bytes : expected;
}

bool take_lent(Lent& one) {
  const os::FutexGuard guard(lock);
  if (lent_count == 0) return false;
  one = lent[--lent_count];
  return true;
}

// A child would have no use for it. 0: there are no addresses to be had, or no mappings.
std::uint64_t map_shared(const Lent& one) {
  const long mapped = os::system_call(SYS_mmap, 0, static_cast<long>(one.bytes),
                                      PROT_READ | PROT_WRITE, MAP_SHARED, one.file, 0);
  constexpr long kMaxErrno = 4095;
  if (mapped < 0 && mapped >= -kMaxErrno) return 0;
  os::system_call(SYS_madvise, mapped, static_cast<long>(one.bytes), MADV_DONTFORK);
  return static_cast<std::uint64_t>(mapped);
}

// With the lock held. It would be nobody's, and it is no use to ask again soon. False: another one
// is on its way, and it was just taken from where it is put again.
bool give_back_unused(const Lent& one) {
  is_denied = true;
  if (begin_return_of(one.number, one.bytes, one.mapped_at)) return true;
  lent[lent_count++] = one;
  return false;
}

bool use(Lent one) {
  if (one.file != kUnusable) {
    one.mapped_at = map_shared(one);
    os::close_file(one.file);
    if (one.mapped_at != 0) add_unknown(one.mapped_at, one.bytes);
  }
  const os::FutexGuard guard(lock);
  const bool is_new = std::exchange(one.file, kUnusable) != kUnusable;
  if (is_new) expected -= one.bytes < expected ? one.bytes : expected;
  const bool is_usable = is_new && one.mapped_at != 0 &&
                         host_room.add(segments + 1, one.bytes, one.mapped_at, one.number);
  if (!is_usable) return give_back_unused(one);
  ++segments;
  have += one.bytes;
  missing = 0;
  all_changed();
  return true;
}

bool are_gates_closed() { return session::ClosedGates(~0U).is_so(); }

// One piece less or more. How long until the next one.
std::int64_t tell_driver_some() {
  const std::int64_t before_ns = os::monotonic_ns();
  const Returned returned = return_some();
  if (returned == Returned::segment) return 0;
  if (returned != Returned::piece) {
    const Known known = make_next_known();
    if (known == Known::all) return kIdle_ns;
    if (known == Known::not_now) return kNotNow_ns;
  }
  return are_gates_closed() ? 0 : kPauses * (os::monotonic_ns() - before_ns);
}

bool was_denied() {
  const os::FutexGuard guard(lock);
  const bool was = is_denied;
  is_denied = false;
  return was;
}

void work(void*) {
  const RelaxedCapture relaxed;
  std::int64_t ask_from_ns = 0;
  for (;;) {
    const std::uint32_t seen = wakes.load(std::memory_order_acquire);
    Lent one = {};
    while (take_lent(one) && use(one)) {
    }
    if (was_denied()) ask_from_ns = os::monotonic_ns() + kDenied_ns;
    spare();
    if (os::monotonic_ns() >= ask_from_ns) ask();
    tell_lack();
    const std::int64_t pause_ns = tell_driver_some();
    if (pause_ns != 0) os::futex_wait(futex(), seen, pause_ns);
  }
}

}  // namespace

bool start_host_thread() {
  if (started.exchange(true)) return true;
  if (start_thread(&work, nullptr)) return true;
  started.store(false);
  return false;
}

void host_is_missing(std::uint64_t bytes) {
  missing = bytes;
  wake();
}

void host_lent(std::uint64_t number, std::uint64_t bytes, int file) {
  {
    const os::FutexGuard guard(lock);
    if (lent_count < kLentMax - 1) {  // one may have to be put again
      lent[lent_count++] = {number, bytes, file};
      file = -1;
    }
  }
  if (file >= 0) os::close_file(file);
  wake();
}

void host_denied(std::uint64_t bytes) {
  {
    const os::FutexGuard guard(lock);
    expected -= bytes < expected ? bytes : expected;
    is_denied = true;
  }
  wake();
}

void set_host_short(bool is_so) {
  {
    const os::FutexGuard guard(lock);
    is_short.store(is_so, std::memory_order_relaxed);
    ahead_from_ns = os::monotonic_ns() + kAfterShort_ns;
  }
  wake();
}

void host_may_be_spare() {
  if (is_short.load(std::memory_order_relaxed)) wake();
}

void host_daemon_gone() {
  const os::FutexGuard guard(lock);
  expected = told_lack = 0;
  for (int i = 0; i < lent_count; ++i) {
    expected += lent[i].bytes;
    lent[i].number = 0;
  }
  is_short.store(false, std::memory_order_relaxed);
  host_room.forget_numbers();
  host_becomes_kept(have + expected);
}

std::uint64_t host_kept() {
  const os::FutexGuard guard(lock);
  return kept_bytes();
}

void forget_host_in_child() {
  started.store(false, std::memory_order_relaxed);
  for (int i = 0; i < lent_count; ++i) {
    if (lent[i].file != kUnusable) os::close_file(lent[i].file);
  }
  lent_count = 0;
  segments = have = expected = missing = requests = told_lack = 0;
  is_denied = false;
  is_short.store(false, std::memory_order_relaxed);
  ahead_from_ns = tell_lack_ns = 0;
  long_spare.forget();
  forget_returns_in_child();
}

}  // namespace nvs::interposer::swap
