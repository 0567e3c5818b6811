// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/futex.h"

#include <cerrno>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace nvs::sim {

bool futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanos deadline) {
  const timespec until{.tv_sec = deadline / 1'000'000'000, .tv_nsec = deadline % 1'000'000'000};
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, expected, &until, nullptr,
                              FUTEX_BITSET_MATCH_ANY);
  return result == 0 || errno != ETIMEDOUT;
}

void futex_wake(std::atomic<std::uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE, count, nullptr, nullptr, 0);
}

std::int32_t current_pid() { return ::getpid(); }

}  // namespace nvs::sim
