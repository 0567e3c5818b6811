// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/graph_room.h"

#include <algorithm>
#include <atomic>

#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/fixed.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/memory/graph_ranges.h"
#include "interposer/memory/hook_support.h"
#include "interposer/memory/swap/driver_room.h"
#include "interposer/memory/swap/take_room.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory::graphs {
namespace {

// In which the driver takes memory for graphs, measured on an H200.
constexpr std::uint64_t kPiece = std::uint64_t{32} << 20U;

struct Promised {
  Promise promise = 0;
  int gpu = 0;
  Need need;
};

constinit os::FutexLock promise_lock;  // guards what is promised
constinit PageList<Promised> all_promised;
constinit Promise last_promise = 0;
// Bytes by GPU: the sum of what is promised, changed with the lock, and what the driver had for
// graphs when it was asked last.
constinit std::atomic<std::uint64_t> promised[gate::kGpusMax] = {};
constinit std::atomic<std::uint64_t> reserved[gate::kGpusMax] = {};
constinit std::atomic<std::uint64_t> trimmed[gate::kGpusMax] = {};  // what a trim has left of it
// Whether any graph with memory there was instantiated. It stays so: whether room was kept or not,
// a launch may take memory, and of launches nobody tells us.
constinit std::atomic<bool> is_used[gate::kGpusMax] = {};

bool is_gpu(int gpu) { return gpu >= 0 && gpu < gate::kGpusMax; }

std::uint64_t reserved_on(int gpu) { return reserved[gpu].load(std::memory_order_relaxed); }
std::uint64_t promised_on(int gpu) { return promised[gpu].load(std::memory_order_relaxed); }

// With the lock held. Graphs share what they free themselves, one after the other; what they leave
// is there until it is freed, or the same graph runs again.
std::uint64_t sum_up(int gpu, const Need& more) {
  std::uint64_t left = more.left;
  std::uint64_t passing = more.passing;
  for (std::size_t i = 0; i < all_promised.size(); ++i) {
    const Promised& one = all_promised[i];
    if (one.gpu != gpu) continue;
    left += one.need.left;
    passing = std::max(passing, one.need.passing);
  }
  return left + passing;
}

// Of what the driver has and what graphs will need together.
std::uint64_t kept_for(std::uint64_t has, std::uint64_t needed) {
  return needed <= has ? has : (needed + kPiece - 1) / kPiece * kPiece;
}

// What would not be kept without promises.
std::uint64_t kept_for_promises(int gpu) {
  const std::uint64_t has = reserved_on(gpu);
  const std::uint64_t left = left_by_graphs(gpu);
  return kept_for(has, promised_on(gpu) + left) - kept_for(has, left);
}

void add_up(int gpu) { promised[gpu].store(sum_up(gpu, {}), std::memory_order_relaxed); }

// With the lock held.
template <class Is>
void end_all(Is is) {
  for (std::size_t i = all_promised.size(); i > 0; --i) {
    const Promised one = all_promised[i - 1];
    if (!is(one)) continue;
    all_promised.erase(i - 1);
    add_up(one.gpu);
  }
}

// The same.
void end_all_on(int gpu) {
  end_all([gpu](const Promised& one) { return one.gpu == gpu; });
}

void end_promises_on(int gpu) {
  const os::FutexGuard guard(promise_lock);
  end_all_on(gpu);
}

void write_down(Promise promise, int gpu, const Need& need) {
  const os::FutexGuard guard(promise_lock);
  if (all_promised.insert(all_promised.size(), {promise, gpu, need})) add_up(gpu);
}

// Whether the driver has so much, for graphs or for whoever comes. Of another GPU nobody can ask
// it.
bool can_have(int gpu, std::uint64_t wanted) {
  const std::uint64_t has = reserved_on(gpu);
  if (has >= wanted) return true;
  const auto ask = real<Row::cuMemGetInfo_v2>();
  std::size_t free = 0;
  std::size_t total = 0;
  if (ask == nullptr || current_device() != gpu || ask(&free, &total) != CUDA_SUCCESS) return true;
  return free >= wanted - has;
}

// What is missing is taken as for an allocation, and promised before others may have the room.
void take_on(int gpu, const Need& need, Promise promise) {
  std::uint64_t needed = 0;
  {
    const os::FutexGuard guard(promise_lock);
    needed = sum_up(gpu, need) + left_by_graphs(gpu);
  }
  const std::uint64_t kept = kept_bytes(gpu);
  const std::uint64_t wanted = kept_for(reserved_on(gpu), needed);
  if (wanted <= kept) return write_down(promise, gpu, need);
  if (!swap::may_ever_have(gpu, wanted - kept)) return;
  swap::DriverRoom room(gpu, wanted - kept);
  if (!room.take_ahead()) return;
  while (!can_have(gpu, wanted)) {
    if (!room.wait()) return;
  }
  write_down(promise, gpu, need);
}

// That the driver has for graphs, though there is none.
bool is_nobodys(int gpu) { return !is_any() && reserved_on(gpu) != trimmed[gpu]; }

// Where that fails, it is not tried again at each drain.
void trim(int gpu) {
  const RelaxedCapture relaxed;
  if (const auto call = real<Row::cuDeviceGraphMemTrim>()) call(gpu);
  look_at_driver(gpu);
  trimmed[gpu] = reserved_on(gpu);
}

}  // namespace

Promise take_room_for(CUgraph graph) {
  if (!session::has_any_daemon()) return 0;
  const libc::NoCancel no_cancel;
  const RelaxedCapture relaxed;
  Needs needs = {};
  find_needs(graph, needs);
  Promise promise = 0;
  {
    const os::FutexGuard guard(promise_lock);
    promise = ++last_promise;
  }
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (needs[gpu].left + needs[gpu].passing == 0 || !session::has_daemon(gpu)) continue;
    is_used[gpu].store(true, std::memory_order_relaxed);
    look_at_driver(gpu);
    take_on(gpu, needs[gpu], promise);
  }
  return promise;
}

void end_promise(Promise promise) {
  if (promise == 0) return;
  const os::FutexGuard guard(promise_lock);
  end_all([promise](const Promised& one) { return one.promise == promise; });
}

bool may_have_any(int gpu) { return is_gpu(gpu) && is_used[gpu].load(std::memory_order_relaxed); }

std::uint64_t kept_bytes(int gpu) {
  if (!may_have_any(gpu)) return 0;
  return kept_for(reserved_on(gpu), promised_on(gpu) + left_by_graphs(gpu));
}

std::uint64_t early_bytes(int gpu) {
  const std::uint64_t kept = kept_bytes(gpu);
  return kept != 0 ? kept - std::min(kept, reserved_on(gpu)) : 0;
}

void look_at_driver(int gpu) {
  const auto ask = real<Row::cuDeviceGetGraphMemAttribute>();
  if (!is_gpu(gpu) || ask == nullptr) return;
  const RelaxedCapture relaxed;
  cuuint64_t bytes = 0;
  const CUresult result = ask(gpu, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes);
  reserved[gpu].store(result == CUDA_SUCCESS ? bytes : 0, std::memory_order_relaxed);
}

void look_at_all() {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (may_have_any(gpu)) look_at_driver(gpu);
  }
}

bool needs_trim(int gpu) {
  if (!may_have_any(gpu)) return false;
  look_at_driver(gpu);
  return is_nobodys(gpu) && swap::is_shared(gpu);
}

void drained(int gpu) {
  if (needs_trim(gpu)) trim(gpu);
}

void context_ended() {
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (!may_have_any(gpu)) continue;
    look_at_driver(gpu);
    if (is_nobodys(gpu)) trim(gpu);
    if (!contexts::is_any(gpu)) end_promises_on(gpu);
  }
}

bool give_up_promises(int gpu, std::uint64_t lacking) {
  if (lacking == 0 || !may_have_any(gpu)) return false;
  const os::FutexGuard guard(promise_lock);
  if (kept_for_promises(gpu) < lacking) return false;
  end_all_on(gpu);
  return true;
}

// Whoever asks tries again as long as this is true: so it is only where less is kept than before.
bool make_way(int gpu, std::uint64_t lacking) {
  const std::uint64_t had = kept_bytes(gpu);
  if (had == 0) return false;
  forget_freed(gpu);
  if (reserved_on(gpu) > promised_on(gpu)) trim(gpu);
  return kept_bytes(gpu) < had || give_up_promises(gpu, lacking);
}

void forget_promises_in_child() {
  promise_lock.reset();
  all_promised = {};
  for (auto& bytes : promised) bytes.store(0, std::memory_order_relaxed);
  for (auto& bytes : reserved) bytes.store(0, std::memory_order_relaxed);
  for (auto& bytes : trimmed) bytes.store(0, std::memory_order_relaxed);
  for (auto& one : is_used) one.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::memory::graphs
