// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/captures.h"

#include <atomic>
#include <cstdint>

#include "interposer/gate/gate.h"
#include "interposer/resolve/clock.h"
#include "interposer/resolve/libc.h"
#include "interposer/resolve/thread_number.h"
#include "interposer/session/drain.h"
#include "os/futex_lock.h"
#include "os/linux_calls.h"

namespace nvs::interposer::captures {
namespace {

constinit os::FutexLock lock;  // guards everything below
struct Capture {
  CUstream stream;       // null: none
  std::uint64_t thread;  // whose stream it is, where each one has its own; else 0
  CUcontext context;
  Number number;
  CUgraph graph;  // that it makes; null: the program's own, or not known
  std::int64_t since_ns;
};
constinit Capture table[kStreamsMax] = {};
// Captures that go on or are about to begin; read without the lock too.
constinit std::atomic<int> count{0};
constinit std::uint64_t numbers = 0;
constinit int unnamed = 0;  // those of them that are not in the table
constinit std::int64_t synchronising_since_ns[gate::kGpusMax] = {};  // 0: nobody does

// The driver looks for captures when it is called, and then waits. To get into the call takes
// microseconds, but a thread whose process has used up its CPU time stands still for a tenth of a
// second just there. So a capture waits for the end, which mostly comes within milliseconds; not
// for ever, since what is synchronised may wait for the capture.
constexpr std::int64_t kEntry_ns = 200'000'000;
// One that has waited so long waits no more for synchronisations that began since, or hardly so.
constexpr std::int64_t kQuickEntry_ns = 2'000'000;
constexpr std::int64_t kPause_ns = 20'000;

bool may_begin(std::int64_t asked_ns) {
  const os::FutexGuard guard(lock);
  const std::int64_t now_ns = clock_ns();
  const std::int64_t entry_ns = now_ns - asked_ns < kEntry_ns ? kEntry_ns : kQuickEntry_ns;
  for (const std::int64_t since_ns : synchronising_since_ns) {
    if (since_ns != 0 && now_ns - since_ns < entry_ns) return false;
  }
  ++count;
  return true;
}

// With the lock held. What made a graph of that handle before has ended, and is about to say so.
void forget_graph(CUgraph graph) {
  for (Capture& place : table) {
    if (place.graph == graph) place.graph = nullptr;
  }
}

std::uint64_t thread_of(CUstream stream) {
  return stream == CU_STREAM_PER_THREAD ? thread_number() : 0;
}

// With the lock held.
Number take_out(Capture& place) {
  const Number number = place.number;
  place = {};
  --count;
  return number;
}

// Without the lock. One that begins just now will tell as well when it has ended.
void tell_if_none() {
  if (!is_any()) drain::captures_ended();
}

void not_begun() {
  {
    const os::FutexGuard guard(lock);
    --count;
  }
  tell_if_none();
}

}  // namespace

void begins() {
  const libc::NoCancel no_cancel;
  const std::int64_t asked_ns = clock_ns();
  while (!may_begin(asked_ns)) os::sleep_ns(kPause_ns);
}

void begun(CUstream stream, CUcontext context, CUresult result, CUgraph graph) {
  const libc::NoCancel no_cancel;
  if (result != CUDA_SUCCESS) return not_begun();
  const std::uint64_t thread = thread_of(stream);
  const os::FutexGuard guard(lock);
  forget_graph(graph);
  for (Capture& place : table) {
    if (place.stream != nullptr) continue;
    place = {stream, thread, context, Number{++numbers}, graph, clock_ns()};
    return;
  }
  ++unnamed;
}

Number ended(CUstream stream, CUcontext context) {
  const libc::NoCancel no_cancel;
  const std::uint64_t thread = thread_of(stream);
  Number number = Number::none;
  {
    const os::FutexGuard guard(lock);
    for (Capture& place : table) {
      const bool is_its = place.thread == thread && (thread == 0 || place.context == context);
      if (stream == nullptr || place.stream != stream || !is_its) continue;
      number = take_out(place);
      break;
    }
    if (number == Number::none && unnamed > 0) {
      --unnamed;
      --count;
    }
  }
  tell_if_none();
  return number;
}

// No default stream is.
Number destroyed(CUstream stream) {
  const libc::NoCancel no_cancel;
  Number number = Number::none;
  {
    const os::FutexGuard guard(lock);
    for (Capture& place : table) {
      if (stream == nullptr || place.stream != stream || place.thread != 0) continue;
      number = take_out(place);
      break;
    }
  }
  tell_if_none();
  return number;
}

void context_ended(CUcontext context) {
  if (context == nullptr) return;
  {
    const os::FutexGuard guard(lock);
    for (Capture& place : table) {
      if (place.stream != nullptr && place.context == context) take_out(place);
    }
  }
  tell_if_none();
}

bool begin_synchronise(int gpu) {
  const os::FutexGuard guard(lock);
  if (count > 0) return false;
  synchronising_since_ns[gpu] = clock_ns();
  return true;
}

void end_synchronise(int gpu) {
  const os::FutexGuard guard(lock);
  synchronising_since_ns[gpu] = 0;
}

// As strong as it can be: whoever finds one and then sleeps has said before that it is to be woken.
bool is_any() { return count.load(std::memory_order_seq_cst) > 0; }

bool keep_memory(std::int64_t now_ns) {
  if (!is_any()) return false;
  const os::FutexGuard guard(lock);
  int lasting = 0;
  for (const Capture& place : table) {
    if (place.stream != nullptr && now_ns - place.since_ns >= kKeepMemory_ns) ++lasting;
  }
  return lasting < count;
}

Number maker_of(CUgraph graph) {
  const os::FutexGuard guard(lock);
  for (const Capture& place : table) {
    if (graph != nullptr && place.graph == graph) return place.number;
  }
  return Number::none;
}

void start_over_in_child() {
  lock.reset();
  for (Capture& place : table) place = {};
  count = 0;
  unnamed = 0;
  for (std::int64_t& since_ns : synchronising_since_ns) since_ns = 0;
}

}  // namespace nvs::interposer::captures
