// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/faults.h"

#include <atomic>

#include "cuda_api/sticky_result.h"
#include "interposer/memory/swap/peers.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/contexts.h"
#include "interposer/session/drain.h"
#include "interposer/session/memory.h"
#include "interposer/session/windows.h"

namespace nvs::interposer::faults {
namespace {

constinit std::atomic<bool> noted[gate::kGpusMax] = {};

}  // namespace

void note(int gpu, CUresult result) {
  if (is_sticky(result)) noted[gpu].store(true, std::memory_order_release);
}

bool is_noted(int gpu) { return noted[gpu].load(std::memory_order_acquire); }

void start_over_in_child() {
  for (auto& gpu : noted) gpu.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::faults

namespace nvs::interposer::session {
namespace {

void set_faulted(int gpu, bool is_faulted) {
  {
    const os::FutexGuard guard(swap::lock);
    swap::rooms[gpu].is_faulted.store(is_faulted);
    swap::changed(gpu);  // who waits for room gets the driver's error instead
  }
  tell_holds(gpu);
}

// With the lock held.
void mend(int gpu) {
  faults::noted[gpu].store(false, std::memory_order_release);
  set_faulted(gpu, false);
  const bool is_free = gpus[gpu].unserved;
  gpus[gpu].phase = is_free ? Phase::free : Phase::open;
  if (is_free || !connection::is_connected()) return;
  // Another thread may have made a context by now, and submitted something.
  while (!gate::begin_close(gpu)) {
  }
  begin_drain(gpu);
}

}  // namespace

void act_on_fault(int gpu) {
  if (!faults::is_noted(gpu)) return;
  const os::FutexGuard guard(lock);
  if (!faults::is_noted(gpu)) return;  // it has just been mended
  Gpu& mine = gpus[gpu];
  const Phase before = mine.phase;
  if (before == Phase::unused || before == Phase::free || before == Phase::faulted) return;
  const bool has_window =
      before == Phase::open || (before == Phase::draining && !is_handed_over(gpu));
  drain::cancel(gpu);
  swap::stands_still(gpu);  // for good
  mine.phase = Phase::faulted;
  mine.opens_alone = false;
  wanted[gpu].store(false);
  // First of all: what cannot move is not to be planned with.
  set_faulted(gpu, true);
  lift_bound(gpu);
  if (has_window && connection::is_connected()) tell_drained(gpu);
  open_gate(gpu);
}

void context_ended() {
  const os::FutexGuard guard(lock);
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
    if (gpus[gpu].phase == Phase::faulted && !contexts::is_any(gpu)) mend(gpu);
  }
}

}  // namespace nvs::interposer::session
