// SPDX-License-Identifier: Apache-2.0
// When the end of what is queued is known.
#include <gtest/gtest.h>

#include "interposer/flow/queue.h"

namespace nvs::interposer::flow {
namespace {

constexpr std::int64_t kMicrosecond = 1'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kKernel = 7;

// Seen to take 1 ms often enough.
Queue after_kernels_of_a_millisecond(std::int64_t& now) {
  Queue queue;
  for (int i = 0; i < 20; ++i) {
    queue.submit(now, kKernel);
    queue.marked(now);
    now += 990 * kMicrosecond;
    queue.seen_running(now);
    now += 10 * kMicrosecond;
    queue.completed(now, 1);
  }
  return queue;
}

TEST(QueueEnd, OfTheLastKernelIsKnownWhileItRuns) {
  std::int64_t now = kMillisecond;
  Queue queue = after_kernels_of_a_millisecond(now);
  EXPECT_EQ(queue.ends_in_ns(now), 0) << "nothing runs";
  queue.submit(now, kKernel);
  EXPECT_EQ(queue.ends_in_ns(now), 0) << "no mark tells when it ends";
  queue.marked(now);
  EXPECT_NEAR(static_cast<double>(queue.ends_in_ns(now)), 1e6, 2e4);
  EXPECT_NEAR(static_cast<double>(queue.ends_in_ns(now + 900 * kMicrosecond)), 1e5, 2e4);
  EXPECT_EQ(queue.ends_in_ns(now + 2 * kMillisecond), 0) << "it is overdue";
  queue.submit(now, kKernel);
  queue.marked(now);
  EXPECT_EQ(queue.ends_in_ns(now + 900 * kMicrosecond), 0) << "it is not the last";
}

TEST(QueueEnd, IsKnownUnlessAKernelTookMuchLonger) {
  std::int64_t now = kMillisecond;
  Queue queue = after_kernels_of_a_millisecond(now);
  const auto run_unseen = [&](std::int64_t kernel_ns) {
    queue.submit(now, kKernel);
    queue.marked(now);
    now += kernel_ns;
    queue.completed(now, 1);
  };
  const auto is_known = [&] {
    Queue next = queue;
    next.submit(now, kKernel);
    next.marked(now);
    return next.ends_in_ns(now) > 0;
  };
  run_unseen(kMillisecond);
  EXPECT_TRUE(is_known()) << "nobody looked when it ended, but it did about then";
  queue.submit(now, kKernel);
  queue.marked(now);
  now += 1200 * kMicrosecond;
  queue.seen_running(now);
  queue.completed(now, 1);
  EXPECT_FALSE(is_known());
}

TEST(QueueEnd, OfAKernelThatIsNewIsNotKnown) {
  Queue queue;
  queue.submit(kMillisecond, kKernel);
  queue.marked(kMillisecond);
  EXPECT_GT(queue.remaining_ns(kMillisecond), 0);
  EXPECT_EQ(queue.ends_in_ns(kMillisecond), 0);
}

TEST(QueueEnd, IsNotKnownBeforeTheGpuHasTurnedToUs) {
  std::int64_t now = kMillisecond;
  Queue queue = after_kernels_of_a_millisecond(now);
  queue.turns(now);
  queue.submit(now, kKernel);
  queue.marked(now);
  EXPECT_EQ(queue.ends_in_ns(now), 0);
  EXPECT_GT(queue.ends_in_ns(now + kTurnToUs_ns), 0);
}

}  // namespace
}  // namespace nvs::interposer::flow
