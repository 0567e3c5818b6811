// SPDX-License-Identifier: Apache-2.0
#include "os/futex_lock.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <time.h>

namespace nvs::os {
namespace {

TEST(FutexLock, LetsOneInAtATime) {
  constexpr int kThreads = 4;
  constexpr int kTimes = 20'000;
  FutexLock lock;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kTimes; ++j) {
        const FutexGuard guard(lock);
        count = count + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTimes);
}

TEST(FutexLock, IsSleptForWhereItIsHeldForLong) {
  FutexLock lock;
  lock.lock();
  timespec used{};
  std::thread waits([&] {
    lock.lock();
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    lock.unlock();
  });
  const timespec held{0, 300'000'000};
  ::nanosleep(&held, nullptr);
  lock.unlock();
  waits.join();
  EXPECT_EQ(used.tv_sec, 0);
  EXPECT_LT(used.tv_nsec, 100'000'000) << "it stayed awake";
}

TEST(FutexLock, IsNotTakenTwice) {
  FutexLock lock;
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.reset();
  EXPECT_TRUE(lock.try_lock());
}

}  // namespace
}  // namespace nvs::os
