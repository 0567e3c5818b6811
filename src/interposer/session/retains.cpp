// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/retains.h"

#include "interposer/gate/gate.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::retains {
namespace {

struct Primary {
  int held;       // by the program; a release that is under way is taken off already
  int under_way;  // calls that end nothing
  int alone;      // calls that may end it; more than one only where patience was at its end
};

constinit os::FutexLock lock;  // guards the primaries
constinit Primary primaries[gate::kGpusMax] = {};

// None of these calls needs another one to be made. Should a program have found a way, as with work
// that waits for what a thread does after it has retained, then both go on in the end.
constexpr std::int64_t kPatience_ns = 10'000'000'000;
constexpr std::int64_t kPause_ns = 50'000;

bool is_known(int gpu) { return gpu >= 0 && gpu < gate::kGpusMax; }

// Tries, with the lock held, until that succeeds or patience is at its end.
template <class Try>
void wait_until(Try succeeds) {
  for (std::int64_t waited_ns = 0;; waited_ns += kPause_ns) {
    {
      const os::FutexGuard guard(lock);
      if (succeeds(waited_ns >= kPatience_ns)) return;
    }
    os::sleep_ns(kPause_ns);
  }
}

}  // namespace

Call::Call(int gpu, Kind kind) : gpu_(gpu), kind_(kind) {
  const libc::NoCancel no_cancel;
  is_alone_ = kind != Kind::retain;
  if (!is_known(gpu)) return;
  Primary& primary = primaries[gpu];
  wait_until([&](bool is_late) {
    if (primary.alone > 0 && !is_late) return false;
    is_alone_ = kind == Kind::reset || (kind == Kind::release && primary.held <= 1);
    ++(is_alone_ ? primary.alone : primary.under_way);
    if (kind == Kind::release) --primary.held;
    return true;
  });
  if (!is_alone_) return;
  // What was under way before may end it first, or keep it from ending.
  wait_until([&](bool is_late) {
    if (primary.under_way > 0 && !is_late) return false;
    if (kind != Kind::release || primary.held <= 0) return true;
    is_alone_ = false;
    --primary.alone;
    ++primary.under_way;
    return true;
  });
}

Call::~Call() {
  if (!is_known(gpu_)) return;
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  Primary& primary = primaries[gpu_];
  --(is_alone_ ? primary.alone : primary.under_way);
  if (kind_ == Kind::retain && is_done_) ++primary.held;
  if (kind_ == Kind::release && !is_done_) ++primary.held;
  // Measured on an H200: a reset does not change how many hold it.
  if (kind_ == Kind::release && (has_ended_ || primary.held < 0)) primary.held = 0;
}

void start_over_in_child() {
  lock.reset();
  for (Primary& primary : primaries) primary = {};
}

}  // namespace nvs::interposer::retains
