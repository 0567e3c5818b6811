// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/reservation.h"

#include <utility>

#include "interposer/gate/gate.h"
#include "interposer/memory/account.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/memory/hook_support.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/memory.h"
#include "interposer/session/session.h"

namespace nvs::interposer::memory {

Reservation::~Reservation() {
  if (held_.bytes != 0) books().cancel(held_);
}

bool Reservation::take(int gpu, std::uint64_t bytes) {
  if (held_.bytes != 0) return true;
  held_.device = gpu;      // there it counts, limit or not
  session::gpu_seen(gpu);  // it may have no context, so that the daemon has not heard of it
  if (!session::has_any_daemon() || gpu < 0 || gpu >= gate::kGpusMax) return true;
  const libc::NoCancel no_cancel;
  session::has_daemon(gpu);  // the account comes before its word
  if (!account::is_any()) return true;
  account::Verdict verdict = account::reserve(gpu, bytes);
  if (verdict == account::Verdict::over && graphs::forget_freed(gpu)) {
    verdict = account::reserve(gpu, bytes);
  }
  if (verdict == account::Verdict::reserved) held_.bytes = bytes;
  return verdict != account::Verdict::over;
}

// Where nobody limits anything the driver is not asked for the GPU: the books know the context's.
bool Reservation::take_here(std::uint64_t bytes) {
  if (!session::has_any_daemon()) return true;
  return take(held_.device != kUnknownDevice ? held_.device : current_device(), bytes);
}

Reserved Reservation::hand_over() { return std::exchange(held_, {}); }

}  // namespace nvs::interposer::memory
