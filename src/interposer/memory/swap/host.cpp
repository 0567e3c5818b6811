// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/host.h"

#include <sys/mman.h>

#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/swap/known.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/connection.h"
#include "interposer/session/memory.h"
#include "interposer/session/thread.h"
#include "os/linux_calls.h"

namespace nvs::interposer::swap {
namespace {

// A memfd that has come and is not mapped yet.
struct Lent {
  std::uint64_t bytes;
  int file;
};
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

constinit std::atomic<bool> started{false};
constinit std::atomic<std::uint32_t> wakes{0};  // a futex

// Guarded by the lock of rooms.h.
constinit Lent lent[kLentMax] = {};
constinit int lent_count = 0;
constinit std::uint64_t segments = 0;  // so far; ours have numbers of their own
constinit std::uint64_t have = 0;      // bytes that are mapped
constinit std::uint64_t expected = 0;  // bytes that are asked for and not mapped yet
constinit std::uint64_t missing = 0;   // bytes that a chunk did not find
constinit std::uint64_t requests = 0;
constinit bool is_denied = false;

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

void ask() {
  wire::NeedHost message;
  {
    const os::FutexGuard guard(lock);
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

void map(const Lent& one) {
  const long mapped = os::system_call(SYS_mmap, 0, static_cast<long>(one.bytes),
                                      PROT_READ | PROT_WRITE, MAP_SHARED, one.file, 0);
  os::close_file(one.file);
  constexpr long kMaxErrno = 4095;
  const bool failed = mapped < 0 && mapped >= -kMaxErrno;
  if (!failed) {
    // A child would have no use for it.
    os::system_call(SYS_madvise, mapped, static_cast<long>(one.bytes), MADV_DONTFORK);
    add_unknown(static_cast<std::uint64_t>(mapped), one.bytes);
  }
  const os::FutexGuard guard(lock);
  expected -= one.bytes < expected ? one.bytes : expected;
  if (failed || !host_room.add(segments + 1, one.bytes, static_cast<std::uint64_t>(mapped))) return;
  ++segments;
  have += one.bytes;
  missing = 0;
  all_changed();
}

bool are_gates_closed() { return session::ClosedGates(~0U).is_so(); }

// One piece. How long until the next one may be made known.
std::int64_t make_some_known() {
  const std::int64_t before_ns = os::monotonic_ns();
  const Known known = make_next_known();
  if (known == Known::all) return kIdle_ns;
  if (known == Known::not_now) return kNotNow_ns;
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
    Lent one;
    while (take_lent(one)) map(one);
    if (was_denied()) ask_from_ns = os::monotonic_ns() + kDenied_ns;
    if (os::monotonic_ns() >= ask_from_ns) ask();
    const std::int64_t pause_ns = make_some_known();
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

void host_lent(std::uint64_t bytes, int file) {
  {
    const os::FutexGuard guard(lock);
    if (lent_count < kLentMax) {
      lent[lent_count++] = {bytes, file};
      file = -1;
    }
  }
  if (file >= 0) os::close_file(file);
  wake();
}

void host_denied(std::uint64_t bytes) {
  const os::FutexGuard guard(lock);
  expected -= bytes < expected ? bytes : expected;
  is_denied = true;
}

void host_daemon_gone() {
  const os::FutexGuard guard(lock);
  expected = 0;
  for (int i = 0; i < lent_count; ++i) expected += lent[i].bytes;
}

std::uint64_t host_kept() {
  const os::FutexGuard guard(lock);
  return have + expected;
}

void forget_host_in_child() {
  started.store(false, std::memory_order_relaxed);
  for (int i = 0; i < lent_count; ++i) os::close_file(lent[i].file);
  lent_count = 0;
  segments = have = expected = missing = requests = 0;
  is_denied = false;
}

}  // namespace nvs::interposer::swap
