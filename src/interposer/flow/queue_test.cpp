// SPDX-License-Identifier: Apache-2.0
// The queue against a simulated GPU and a thread that submits as fast as it may.
#include "interposer/flow/queue.h"

#include <algorithm>
#include <deque>
#include <functional>

#include <gtest/gtest.h>

namespace nvs::interposer::flow {
namespace {

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kBound = 2 * kMs;
constexpr std::uint64_t kKey = 7;

// One stream: kernels run one after the other. A mark completes with the kernel before it.
class SimGpu {
 public:
  std::int64_t submit(std::int64_t now_ns, std::int64_t kernel_ns) {
    if (now_ns > free_at_) starved_ += now_ns - free_at_;
    free_at_ = std::max(free_at_, now_ns) + kernel_ns;
    return free_at_;
  }
  void mark() { marks_.push_back(free_at_); }
  bool oldest_complete(std::int64_t now_ns) const { return marks_.front() <= now_ns; }
  void pop() { marks_.pop_front(); }
  std::int64_t queued(std::int64_t now_ns) const {
    return std::max<std::int64_t>(free_at_ - now_ns, 0);
  }
  std::int64_t starved() const { return starved_; }
  void forgive() { starved_ = 0; }

 private:
  std::deque<std::int64_t> marks_;
  std::int64_t free_at_ = 0;
  std::int64_t starved_ = 0;
};

struct Outcome {
  std::int64_t most_queued_ns = 0;
  std::int64_t starved_ns = 0;
  int submissions = 0;
};

class QueueTest : public testing::Test {
 protected:
  void reap() {
    int complete = 0;
    while (complete < queue.marks() && gpu.oldest_complete(now)) {
      gpu.pop();
      ++complete;
    }
    queue.completed(now, complete);
    if (queue.marks() > 0) queue.seen_running(now);
  }

  // Submits kernels of the given lengths until the time is over. A wait takes `oversleep` longer
  // than asked, a submission takes 4 us of the thread.
  Outcome run(std::int64_t duration_ns, const std::function<std::int64_t(int)>& kernel_ns,
              std::int64_t oversleep_ns = 20 * kUs) {
    Outcome outcome;
    gpu.forgive();
    const std::int64_t end = now + duration_ns;
    while (now < end) {
      reap();
      const std::uint64_t key = key_of(outcome.submissions);
      const std::int64_t wait = queue.wait_ns(now, bound, key);
      if (wait > 0) {
        now += wait + oversleep_ns;
        continue;
      }
      queue.submit(now, key);
      gpu.submit(now, kernel_ns(outcome.submissions++));
      if (queue.needs_mark(now, bound)) {
        gpu.mark();
        queue.marked(now);
      }
      outcome.most_queued_ns = std::max(outcome.most_queued_ns, gpu.queued(now));
      now += 4 * kUs;
    }
    outcome.starved_ns = gpu.starved();
    return outcome;
  }

  // What kinds of kernels the n-th ones are; one kind unless a test says otherwise.
  std::function<std::uint64_t(int)> key_of = [](int) { return kKey; };
  std::int64_t bound = kBound;
  Queue queue;
  SimGpu gpu;
  std::int64_t now = 1'000'000'000;
};

TEST_F(QueueTest, KernelsShorterThanTheBoundFillItAndNoMore) {
  for (const std::int64_t kernel : {5 * kUs, 30 * kUs, 200 * kUs, 900 * kUs}) {
    run(50 * kMs, [&](int) { return kernel; });
    const Outcome outcome = run(200 * kMs, [&](int) { return kernel; });
    EXPECT_LE(outcome.most_queued_ns, kBound + kBound / 4 + kernel) << kernel;
    EXPECT_LE(outcome.starved_ns, 0) << kernel;
    EXPECT_NEAR(static_cast<double>(queue.guess_ns(kKey)), static_cast<double>(kernel),
                0.15 * static_cast<double>(kernel) + 3e3);
  }
}

// The next one is submitted shortly before the running one ends: whoever comes in between waits for
// hardly more than the rest of one kernel.
TEST_F(QueueTest, OfKernelsAsLongAsTheBoundOnlyOneIsQueued) {
  const auto kernel = [](int) { return 1700 * kUs; };
  run(50 * kMs, kernel);
  const Outcome outcome = run(500 * kMs, kernel);
  EXPECT_LE(outcome.most_queued_ns, 1700 * kUs + kRunDry_ns + 1700 * kUs / 8);
  EXPECT_EQ(outcome.starved_ns, 0);
}

TEST_F(QueueTest, KernelsFarBeyondTheBoundStillFollowEachOther) {
  const auto kernel = [](int) { return 70 * kMs; };
  run(700 * kMs, kernel);
  const Outcome outcome = run(3000 * kMs, kernel);
  EXPECT_LE(outcome.most_queued_ns, 2 * 70 * kMs);
  EXPECT_LE(outcome.starved_ns, 3000 * kMs / 200);
}

TEST_F(QueueTest, ASlowPhaseIsForgottenSoon) {
  run(100 * kMs, [](int) { return 20 * kUs; });
  run(10000 * kMs, [](int) { return 30 * kMs; });
  // What is left of it, and some time to learn.
  run(140 * kMs, [](int) { return 20 * kUs; });
  const Outcome after = run(100 * kMs, [](int) { return 20 * kUs; });
  EXPECT_EQ(after.starved_ns, 0);
  EXPECT_LT(queue.guess_ns(kKey), 40 * kUs);
}

TEST_F(QueueTest, MixedLengthsOfOneKindNeitherStarveNorPileUp) {
  const auto kernel = [](int i) { return i % 50 == 0 ? 1500 * kUs : 10 * kUs; };
  run(100 * kMs, kernel);
  const Outcome outcome = run(500 * kMs, kernel);
  EXPECT_LE(outcome.starved_ns, 500 * kMs / 500);
  EXPECT_LE(outcome.most_queued_ns, 5 * kBound);
}

// A fill of 2 us before each kernel of 1.7 ms: still only one of those is queued.
TEST_F(QueueTest, KindsAreToldApart) {
  const auto kernel = [](int i) { return i % 2 == 0 ? 2 * kUs : 1700 * kUs; };
  key_of = [](int i) { return i % 2 == 0 ? std::uint64_t{1} : kKey; };
  run(100 * kMs, kernel);
  const Outcome outcome = run(500 * kMs, kernel);
  // They mostly end together, so it is their sum that is known best.
  EXPECT_NEAR(static_cast<double>(queue.guess_ns(kKey) + queue.guess_ns(1)), 1702e3, 50e3);
  EXPECT_LT(queue.guess_ns(1), queue.guess_ns(kKey) / 4);
  EXPECT_LE(outcome.most_queued_ns, 1700 * kUs + kRunDry_ns + 1700 * kUs / 4);
  EXPECT_EQ(outcome.starved_ns, 0);
}

// Nor one of long kernels, where more may be queued.
TEST_F(QueueTest, AThreadThatOversleepsMuchDoesNotStarveLongKernelsUnderADeepBound) {
  bound = 8 * kMs;
  const auto kernel = [](int) { return 10 * kMs; };
  run(200 * kMs, kernel, 600 * kUs);
  const Outcome outcome = run(2000 * kMs, kernel, 600 * kUs);
  EXPECT_LE(outcome.starved_ns, 2000 * kMs / 1000);
  EXPECT_LE(outcome.most_queued_ns, 10 * kMs + bound / 4);
}

TEST_F(QueueTest, AThreadThatOversleepsDoesNotLetAShortQueueRunDry) {
  const auto kernel = [](int) { return 100 * kUs; };
  run(50 * kMs, kernel, 200 * kUs);
  EXPECT_EQ(run(300 * kMs, kernel, 200 * kUs).starved_ns, 0);
}

// What is behind the last mark is not known to be done.
TEST_F(QueueTest, MarksSufficeForADeepBound) {
  bound = 15 * kMs;
  const auto kernel = [](int) { return 50 * kUs; };
  run(100 * kMs, kernel);
  run(100 * kMs, kernel);
  EXPECT_FALSE(queue.is_full());
  EXPECT_LE(queue.unmarked(), 3);
  EXPECT_GE(queue.remaining_ns(now), bound / 2);
}

TEST_F(QueueTest, OneMarkServesManyTinySubmissions) {
  for (int i = 0; i < 100; ++i) {
    queue.submit(now, kKey);
    if (queue.needs_mark(now, bound)) queue.marked(now);
    now += kUs;
    if (queue.marks() > 1) queue.completed(now, 1);
  }
  int marks = 0;
  // Once it is known how short they are, marks are 20 us apart.
  for (int i = 0; i < 200; ++i) {
    queue.submit(now, kKey);
    if (queue.needs_mark(now, bound)) {
      queue.marked(now);
      ++marks;
    }
    now += kUs;
    if (queue.marks() > 1) queue.completed(now, 1);
  }
  EXPECT_LE(marks, 16);
  EXPECT_GE(marks, 8);
}

TEST_F(QueueTest, ADrainTeachesTheLengthOfWhatWasRunning) {
  queue.submit(now, kKey);
  queue.marked(now);
  now += 80 * kMs;
  const std::int64_t before = queue.guess_ns(kKey);
  queue.emptied(now);
  EXPECT_GT(queue.guess_ns(kKey), before + 8 * kMs);
  EXPECT_TRUE(queue.is_empty());
  EXPECT_EQ(queue.remaining_ns(now), 0);
  EXPECT_EQ(queue.wait_ns(now, kBound, kKey), 0);
}

TEST_F(QueueTest, TheGpusWayToUsIsNotTakenForWork) {
  const auto kernel = [this](std::int64_t begins_in_ns) {
    queue.submit(now, kKey);
    queue.marked(now);
    queue.seen_running(now + begins_in_ns + kMs - 10 * kUs);
    queue.completed(now + begins_in_ns + kMs, 1);
    now += 20 * kMs;
  };
  for (int i = 0; i < 20; ++i) kernel(0);
  for (int i = 0; i < 20; ++i) {
    queue.turns(now);
    kernel(kTurnToUs_ns);
  }
  EXPECT_GT(queue.guess_ns(kKey), kMs - 20 * kUs);
  EXPECT_LT(queue.guess_ns(kKey), kMs + 20 * kUs);
  queue.turns(now);
  queue.submit(now, kKey);
  queue.marked(now);
  EXPECT_EQ(queue.remaining_ns(now + kTurnToUs_ns), queue.guess_ns(kKey)) << "it has not begun";
}

// Nobody else had it meanwhile.
TEST_F(QueueTest, WhatEndsBeforeTheGpuCouldHaveComeTeachesNothing) {
  const std::int64_t guess_ns = queue.guess_ns(kKey);
  queue.turns(now);
  queue.submit(now, kKey);
  queue.marked(now);
  queue.completed(now + 20 * kUs, 1);
  EXPECT_EQ(queue.guess_ns(kKey), guess_ns);
}

TEST_F(QueueTest, WhatIsNotKnownIsLookedAtSoonAndThenLessOften) {
  queue.submit(now, kKey);
  EXPECT_LE(queue.poll_in_ns(now), kMarkEvery_ns) << "the mark will be there in a moment";
  queue.marked(now);
  std::int64_t looked_for = 0;
  int looks = 0;
  while (looked_for < 13 * kUs) {
    const std::int64_t wait = queue.poll_in_ns(now + looked_for);
    EXPECT_LE(wait, std::max<std::int64_t>(looked_for, 10 * kUs));
    looked_for += wait;
    ++looks;
    if (looked_for < 13 * kUs) queue.seen_running(now + looked_for);
  }
  EXPECT_LE(looks, 3);
  const std::int64_t before = queue.guess_ns(kKey);
  queue.completed(now + looked_for, 1);
  EXPECT_LT(queue.guess_ns(kKey), before / 3);
}

// A stream waits for work on another one: what is done behind it is not queued any more.
TEST_F(QueueTest, MarksMayCompleteBehindOneThatDoesNot) {
  for (int i = 0; i < 5; ++i) {
    queue.submit(now, kKey);
    queue.marked(now);
  }
  EXPECT_FALSE(queue.is_overdue(now));
  now += 100 * kMs;
  EXPECT_TRUE(queue.is_overdue(now));
  EXPECT_GT(queue.wait_ns(now, kBound, kKey), 0);
  for (int left = 4; left > 0; --left) queue.drop_at(left == 4 ? 2 : 1);
  EXPECT_EQ(queue.marks(), 1);
  EXPECT_EQ(queue.remaining_ns(now), 0);
  EXPECT_EQ(queue.wait_ns(now, kBound, kKey), 0);
}

// On another stream, whose marks complete one by one behind the first.
TEST_F(QueueTest, TheGpuIsNotIdleBehindWhatDoesNotEnd) {
  const auto kernel = [](int) { return 100 * kUs; };
  run(50 * kMs, kernel);
  now += kMs;
  reap();
  queue.submit(now, kKey + 1);
  queue.marked(now);
  now += kFirstGuess_ns + kBound + kMs;
  gpu.submit(now, 0);
  gpu.forgive();
  const std::int64_t end = now + 100 * kMs;
  while (now < end) {
    while (queue.marks() > 1 && gpu.oldest_complete(now)) {
      gpu.pop();
      queue.drop_at(1);
    }
    const std::int64_t wait = queue.wait_ns(now, kBound, kKey);
    if (wait == 0) {
      queue.submit(now, kKey);
      gpu.submit(now, kernel(0));
      gpu.mark();
      queue.marked(now);
    }
    now += wait + 10 * kUs;
  }
  EXPECT_LT(gpu.starved(), 100 * kMs / 8);
}

TEST_F(QueueTest, WithoutMarksNothingIsHeldBack) {
  for (int i = 0; i < 1000; ++i) queue.submit(now, kKey);
  EXPECT_EQ(queue.wait_ns(now, kBound, kKey), 0);
}

TEST_F(QueueTest, AFullRingTakesNoMoreMarks) {
  for (int i = 0; i < kMarksMax + 10; ++i) {
    queue.submit(now, kKey);
    queue.marked(now);
  }
  EXPECT_TRUE(queue.is_full());
  EXPECT_EQ(queue.marks(), kMarksMax);
  EXPECT_EQ(queue.unmarked(), 10);
  EXPECT_FALSE(queue.needs_mark(now + kMs, bound));
  for (int i = 0; i < kMarksMax; ++i) queue.dropped();
  EXPECT_EQ(queue.marks(), 0);
  queue.dropped();
  EXPECT_EQ(queue.remaining_ns(now), 10 * queue.guess_ns(kKey));
}

TEST_F(QueueTest, CompletionsAreCounted) {
  for (int i = 1; i <= 3; ++i) {
    queue.submit(now, kKey);
    queue.marked(now);
  }
  EXPECT_EQ(queue.completions(), 0U);
  queue.completed(now + kMs, 2);
  EXPECT_EQ(queue.completions(), 2U);
}

}  // namespace
}  // namespace nvs::interposer::flow
