// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/unified/bring.h"

#include <algorithm>
#include <atomic>

#include "interposer/flow/relaxed_capture.h"
#include "interposer/memory/books.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/unified/claim.h"
#include "interposer/memory/unified/prefetch.h"
#include "interposer/session/memory.h"
#include "interposer/session/thread.h"

namespace nvs::interposer::unified {
namespace {

constexpr std::int64_t kIdle_ns = 1'000'000'000;
// The gate is about to close.
constexpr std::int64_t kSoon_ns = 2'000'000;
// As often as that the daemon hears of it, and we of the daemon.
constexpr std::uint64_t kStepBytes = std::uint64_t{64} << 20U;
constexpr std::size_t kRecordsAtATime = 64;

constinit std::atomic<bool> started[gate::kGpusMax] = {};

Next look(int gpu, std::uint64_t& target) {
  const session::ClosedGates closed(1U << gpu);
  const os::FutexGuard guard(swap::lock);
  return follow_allowance(gpu, closed.is_so(), target);
}

// Brings allocations in, from the first on: those that are there already cost next to nothing.
class Bringing {
 public:
  Bringing(int gpu, std::uint64_t target) : gpu_(gpu), target_(target), prefetch_(gpu) {}

  void run() {
    memory::Record records[kRecordsAtATime];
    std::size_t cursor = 0;
    while (is_wanted_ && done_ < target_) {
      const std::size_t found =
          memory::books().list(memory::MemoryKind::unified, gpu_, cursor, records, kRecordsAtATime);
      if (found == 0) break;
      for (std::size_t i = 0; i < found && is_wanted_; ++i) bring(records[i]);
    }
    // Whatever the driver made of it, or has been freed: the rest comes when it is used.
    done_ = target_;
    if (is_wanted_) note();
  }

 private:
  void bring(const memory::Record& record) {
    for (std::uint64_t at = 0; at < record.bytes && done_ < target_ && is_wanted_;) {
      const std::uint64_t left = std::min(record.bytes - at, target_ - done_);
      const std::uint64_t step = std::min(left, kStepBytes - unnoted_);
      prefetch_.bring(record.id + at, step);
      at += step;
      done_ += step;
      unnoted_ += step;
      if (unnoted_ == kStepBytes) note();
    }
  }

  void note() {
    unnoted_ = 0;
    {
      const os::FutexGuard guard(swap::lock);
      is_wanted_ = note_brought(gpu_, done_);
    }
    session::tell_holds(gpu_);
  }

  int gpu_;
  std::uint64_t target_;
  Prefetch prefetch_;
  std::uint64_t done_ = 0;
  std::uint64_t unnoted_ = 0;
  bool is_wanted_ = true;
};

// How long to wait for a change then.
std::int64_t follow(int gpu) {
  for (;;) {
    std::uint64_t target = 0;
    switch (look(gpu, target)) {
      case Next::none:
        return kIdle_ns;
      case Next::wait:
        return kSoon_ns;
      case Next::left:
        session::tell_holds(gpu);
        break;
      case Next::bring:
        Bringing(gpu, target).run();
        if (is_complete(gpu)) session::memory_is_complete(gpu);
        break;
    }
  }
}

void work(void* argument) {
  const auto gpu = static_cast<int>(reinterpret_cast<std::intptr_t>(argument));
  const RelaxedCapture relaxed;
  for (;;) {
    const std::uint32_t seen = swap::rooms[gpu].changes.load(std::memory_order_acquire);
    swap::wait_for_change(gpu, seen, follow(gpu));
  }
}

}  // namespace

bool start_bringing(int gpu) {
  if (started[gpu].exchange(true)) return true;
  const bool is_there =
      start_thread(&work, reinterpret_cast<void*>(static_cast<std::intptr_t>(gpu)));
  if (!is_there) started[gpu].store(false);
  return is_there;
}

void forget_bringing_in_child() {
  for (auto& flag : started) flag.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::unified
