// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/presence.h"

#include <bit>

#include "interposer/memory/swap/rooms.h"
#include "interposer/session/session.h"

namespace nvs::interposer::swap {
namespace {

constexpr std::int64_t kLookAgain_ns = 50'000'000;

bool is_there(int gpu) {
  const os::FutexGuard guard(lock);
  const vmm::Sums sums = regions.sums(gpu);
  return sums.total() == sums.resident || rooms[gpu].is_faulted;  // or nothing comes any more
}

}  // namespace

void wait_until_there(std::uint32_t gpus) {
  for (; gpus != 0; gpus &= gpus - 1) {
    const int gpu = std::countr_zero(gpus);
    for (;;) {
      const std::uint32_t seen = rooms[gpu].changes.load(std::memory_order_acquire);
      if (is_there(gpu)) break;
      session::want(gpu);
      wait_for_change(gpu, seen, kLookAgain_ns);
    }
  }
}

}  // namespace nvs::interposer::swap
