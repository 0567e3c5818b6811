// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/captures.h"

#include <cstdint>

#include "interposer/resolve/clock.h"
#include "os/futex_lock.h"

namespace nvs::interposer::captures {
namespace {

// More captures at a time than this are counted and not told apart; then nothing is synchronised
// until all of them are over.
constexpr int kStreamsMax = 64;

constinit os::FutexLock lock;  // guards everything below
struct Capture {
  CUstream stream;  // null: none
  CUcontext context;
};
constinit Capture table[kStreamsMax] = {};
constinit int count = 0;    // captures that go on or are about to begin
constinit int unnamed = 0;  // those of them that are not in the table
constinit int synchronising = 0;
constinit std::int64_t synchronising_since_ns = 0;

// The driver looks for captures when it is called, and then waits. This is more than it takes to
// get into the call.
constexpr std::int64_t kEntry_ns = 2'000'000;
constexpr std::int64_t kPause_ns = 20'000;

bool may_begin() {
  const os::FutexGuard guard(lock);
  const bool entering = synchronising > 0 && clock_ns() - synchronising_since_ns < kEntry_ns;
  if (!entering) ++count;
  return !entering;
}

// With the lock held.
bool forget(CUstream stream) {
  for (Capture& place : table) {
    if (place.stream != stream || stream == nullptr) continue;
    place = {};
    --count;
    return true;
  }
  return false;
}

}  // namespace

void begins() {
  while (!may_begin()) os::sleep_ns(kPause_ns);
}

void begun(CUstream stream, CUcontext context, CUresult result) {
  const os::FutexGuard guard(lock);
  if (result != CUDA_SUCCESS) {
    --count;
    return;
  }
  for (Capture& place : table) {
    if (place.stream != nullptr) continue;
    place = {stream, context};
    return;
  }
  ++unnamed;
}

void ended(CUstream stream) {
  const os::FutexGuard guard(lock);
  if (forget(stream) || unnamed == 0) return;
  --unnamed;
  --count;
}

void destroyed(CUstream stream) {
  const os::FutexGuard guard(lock);
  forget(stream);
}

void context_ended(CUcontext context) {
  if (context == nullptr) return;
  const os::FutexGuard guard(lock);
  for (Capture& place : table) {
    if (place.stream == nullptr || place.context != context) continue;
    place = {};
    --count;
  }
}

bool begin_synchronise() {
  const os::FutexGuard guard(lock);
  if (count > 0) return false;
  ++synchronising;
  synchronising_since_ns = clock_ns();
  return true;
}

void end_synchronise() {
  const os::FutexGuard guard(lock);
  --synchronising;
}

void start_over_in_child() {
  lock.reset();
  for (Capture& place : table) place = {};
  count = 0;
  unnamed = 0;
  synchronising = 0;
}

}  // namespace nvs::interposer::captures
