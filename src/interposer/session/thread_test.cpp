// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/thread.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include "os/socket_calls.h"

namespace nvs::interposer {
namespace {

// What a thread of ours that this one starts finds.
void in_our_thread(const std::function<void()>& look) {
  struct Work {
    const std::function<void()>& look;
    std::atomic<bool> done{false};
  } work{look};
  const auto run = [](void* argument) {
    auto* mine = static_cast<Work*>(argument);
    mine->look();
    mine->done = true;
  };
  ASSERT_TRUE(start_thread(run, &work));
  while (!work.done) std::this_thread::yield();
}

std::uint64_t blocked_signals() {
  std::uint64_t mask = 0;
  os::system_call(SYS_rt_sigprocmask, SIG_SETMASK, 0, os::argument(&mask), sizeof mask);
  return mask;
}

// setuid() waits until every thread has taken signal 33; libc takes it and 32 out of the mask of
// new threads, but did not always do so.
constexpr std::uint64_t kLibcsOwn = std::uint64_t{3} << 31U;
constexpr std::uint64_t kCannotBeBlocked =
    (std::uint64_t{1} << (SIGKILL - 1)) | (std::uint64_t{1} << (SIGSTOP - 1));

TEST(Thread, BlocksAllSignalsButThoseOfLibc) {
  std::uint64_t before = 0;
  os::block_signals(before);
  EXPECT_EQ(blocked_signals(), ~(kLibcsOwn | kCannotBeBlocked));
  os::restore_signals(before);
  std::uint64_t there = 0;
  in_our_thread([&] { there = blocked_signals(); });
  EXPECT_EQ(there, ~(kLibcsOwn | kCannotBeBlocked));
  EXPECT_EQ(blocked_signals(), before);
}

TEST(Thread, IsNotBoundToTheCoreOfWhoeverStartsIt) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "there is one processor only";
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  int cpus = 0;
  in_our_thread([&] {
    cpu_set_t there;
    if (::sched_getaffinity(0, sizeof there, &there) == 0) cpus = CPU_COUNT(&there);
  });
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_GE(cpus, CPU_COUNT(&before));
}

TEST(Thread, IsNotARealTimeThread) {
  const sched_param urgent{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_RR, &urgent) != 0) GTEST_SKIP() << "that is not allowed";
  int policy = -1;
  in_our_thread([&] { policy = ::sched_getscheduler(0); });
  const sched_param plain{};
  EXPECT_EQ(::sched_setscheduler(0, SCHED_OTHER, &plain), 0);
  EXPECT_EQ(policy, SCHED_OTHER);
}

}  // namespace
}  // namespace nvs::interposer
