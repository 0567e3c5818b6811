// SPDX-License-Identifier: Apache-2.0
// The compute token in a world of its own: agents that submit kernels, a clock that only the test
// moves.
#include "cuda_sim/machine/compute_token.h"

#include <deque>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

constexpr Nanos kMs = 1'000'000;
constexpr Nanos kUs = 1'000;
constexpr SliceTimes kTimes{.slice = 2'400 * kUs, .switch_cost = 200 * kUs, .grace = 20 * kMs};

struct Kernel {
  Nanos submitted;
  Nanos duration;
  Nanos start = -1;
  Nanos end = -1;
};

// A context's executor: asks for its next kernel's time, a little ahead of the clock, and sleeps as
// it is told.
class Agent {
 public:
  Agent(ComputeToken& token, std::uint64_t id) : token_(token), id_(id) {}

  void submit(Nanos at, Nanos duration) {
    kernels.push_back({at, duration});
    wake_at = std::min(wake_at, at);
  }

  void step(Nanos now) {
    while (next_ < kernels.size()) {
      Kernel& kernel = kernels[next_];
      const Nanos ready = std::max(kernel.submitted, free_at_);
      if (ready > now + kAhead) {
        wake_at = ready - kAhead;
        return;
      }
      if (remaining_ == 0) remaining_ = kernel.duration;
      const ComputeAnswer answer = token_.request(
          {.context = id_, .now = now, .ready = ready, .want = remaining_, .more = has_more(now)},
          kTimes);
      if (!answer.granted) {
        wake_at = answer.retry_at;
        waiting = true;
        return;
      }
      waiting = false;
      if (kernel.start < 0) kernel.start = answer.start;
      kernel.end = answer.end;
      free_at_ = answer.end;
      remaining_ -= answer.end - answer.start;
      if (remaining_ != 0) continue;
      ++next_;
      if (repeats > 0) {
        --repeats;
        kernels.push_back({kernel.end + kThink, kernel.duration});
        wake_at = kernels.back().submitted;
        return;
      }
    }
    token_.run_dry(id_);
    wake_at = std::numeric_limits<Nanos>::max();
  }

  std::vector<Kernel> kernels;
  Nanos wake_at = std::numeric_limits<Nanos>::max();
  bool waiting = false;
  int repeats = 0;  // how often the last kernel is submitted again, a little after its end

 private:
  static constexpr Nanos kThink = 8 * kUs;
  static constexpr Nanos kAhead = 200 * kUs;

  bool has_more(Nanos now) const {
    return next_ + 1 < kernels.size() && kernels[next_ + 1].submitted <= now;
  }

  ComputeToken& token_;
  std::uint64_t id_;
  std::size_t next_ = 0;
  Nanos free_at_ = 0;
  Nanos remaining_ = 0;
};

// Runs all agents until none has anything to do. `lag` is how late a sleeper wakes.
void run(const ComputeToken& token, std::vector<Agent*> agents, Nanos until, Nanos lag = 0) {
  Nanos now = 0;
  while (true) {
    Agent* next = nullptr;
    for (Agent* agent : agents) {
      if (next == nullptr || agent->wake_at < next->wake_at) next = agent;
    }
    if (next->wake_at > until) return;
    now = std::max(now, next->wake_at + lag);
    const std::uint32_t epoch = token.epoch();
    next->step(now);
    if (token.epoch() == epoch) continue;
    for (Agent* agent : agents) {
      if (agent->waiting && agent != next) agent->wake_at = now;
    }
  }
}

TEST(ComputeToken, AloneKernelsRunBackToBack) {
  ComputeToken token;
  Agent a{token, 1};
  for (int i = 0; i < 10; ++i) a.submit(0, 5 * kMs);
  run(token, {&a}, 1000 * kMs);
  EXPECT_EQ(a.kernels.front().start, 0);
  EXPECT_EQ(a.kernels.back().end, 50 * kMs);
  EXPECT_EQ(token.busy_ns(), static_cast<std::uint64_t>(50 * kMs));
}

TEST(ComputeToken, LateWakeUpsLoseNoTime) {
  ComputeToken token;
  Agent a{token, 1};
  for (int i = 0; i < 10; ++i) a.submit(0, 5 * kMs);
  run(token, {&a}, 1000 * kMs, 100 * kUs);
  EXPECT_EQ(a.kernels.back().end, 50 * kMs);
}

TEST(ComputeToken, TwoSaturatingContextsPayForEverySwitch) {
  ComputeToken token;
  Agent a{token, 1};
  Agent b{token, 2};
  for (int i = 0; i < 1000; ++i) a.submit(0, 1'700 * kUs);
  for (int i = 0; i < 1000; ++i) b.submit(0, 1'700 * kUs);
  run(token, {&a, &b}, 2000 * kMs);
  // 1.7 s of work each, every 2.4 ms of which costs 0.2 ms.
  const double total = 2 * 1700.0;
  const double finished =
      static_cast<double>(std::max(a.kernels.back().end, b.kernels.back().end)) / kMs;
  EXPECT_LT(finished, 2000 * 1.05 + total) << "both ended";
  Nanos a_done = 0;
  Nanos b_done = 0;
  for (const Kernel& kernel : a.kernels)
    a_done += kernel.end > 0 && kernel.end <= 1000 * kMs ? kernel.duration : 0;
  for (const Kernel& kernel : b.kernels)
    b_done += kernel.end > 0 && kernel.end <= 1000 * kMs ? kernel.duration : 0;
  const double share = static_cast<double>(a_done + b_done) / (1000.0 * kMs);
  EXPECT_NEAR(share, 2.4 / 2.6, 0.005);
  EXPECT_NEAR(static_cast<double>(a_done) / static_cast<double>(b_done), 1.0, 0.01);
}

TEST(ComputeToken, AShortRequestWaitsForTheEndOfASliceAndNoLonger) {
  ComputeToken token;
  Agent busy{token, 1};
  Agent tiny{token, 2};
  for (int i = 0; i < 200; ++i) busy.submit(0, 1'700 * kUs);
  for (int i = 1; i < 40; ++i) tiny.submit(i * 7'310 * kUs, 2 * kUs);
  run(token, {&busy, &tiny}, 300 * kMs, 20 * kUs);
  std::vector<Nanos> waits;
  for (const Kernel& kernel : tiny.kernels) waits.push_back(kernel.end - kernel.submitted);
  std::sort(waits.begin(), waits.end());
  EXPECT_GT(waits[waits.size() / 2], 500 * kUs) << "the busy context holds the GPU";
  EXPECT_LE(waits.back(), 2'400 * kUs + 200 * kUs + 50 * kUs);
  // What the busy context lost is the switches and the tiny kernels, not time in which nobody ran.
  const Nanos lost = busy.kernels[150].end - 151 * 1'700 * kUs;
  EXPECT_LE(lost, 40 * (200 + 2 + 1) * kUs);
}

// A program that asks again as soon as it has its answer must not keep a sleeping neighbour out.
TEST(ComputeToken, RequestsInAClosedLoopEachWaitForTheirTurn) {
  ComputeToken token;
  Agent busy{token, 1};
  Agent tiny{token, 2};
  for (int i = 0; i < 200; ++i) busy.submit(0, 1'700 * kUs);
  tiny.submit(1 * kMs, 2 * kUs);
  tiny.repeats = 50;
  run(token, {&busy, &tiny}, 200 * kMs, 60 * kUs);
  ASSERT_EQ(tiny.kernels.size(), 51U);
  for (const Kernel& kernel : tiny.kernels) {
    if (kernel.end < 0) continue;  // still waiting when the time was up
    EXPECT_GT(kernel.end - kernel.submitted, 1 * kMs);
  }
}

TEST(ComputeToken, AHolderThatRunsDryIsFollowedAtOnceAndForFree) {
  ComputeToken token;
  Agent a{token, 1};
  Agent b{token, 2};
  a.submit(0, 1 * kMs);
  b.submit(100 * kUs, 1 * kMs);
  run(token, {&a, &b}, 100 * kMs);
  EXPECT_EQ(a.kernels[0].end, 1 * kMs);
  EXPECT_EQ(b.kernels[0].start, 1 * kMs);
}

TEST(ComputeToken, ASilentHolderLosesTheGpuAfterItsGrace) {
  ComputeToken token;
  // A holder that promised more and was killed.
  const auto first =
      token.request({.context = 1, .now = 0, .ready = 0, .want = kMs, .more = true}, kTimes);
  ASSERT_TRUE(first.granted);
  EXPECT_FALSE(
      token.request({.context = 2, .now = 10 * kMs, .ready = 0, .want = kMs}, kTimes).granted);
  const auto later =
      token.request({.context = 2, .now = 22 * kMs, .ready = 10 * kMs, .want = kMs}, kTimes);
  ASSERT_TRUE(later.granted);
  EXPECT_EQ(later.start, 10 * kMs);
}

TEST(ComputeToken, AWaiterThatFallsSilentHoldsNobodyUp) {
  ComputeToken token;
  ASSERT_TRUE(token.request({.context = 1, .now = 0, .ready = 0, .want = kMs, .more = true}, kTimes)
                  .granted);
  EXPECT_FALSE(token.request({.context = 2, .now = 0, .ready = 0, .want = kMs}, kTimes).granted);
  token.leave(1);
  // Context 2 stands first in line but never comes back.
  EXPECT_FALSE(token.request({.context = 3, .now = kMs, .ready = 0, .want = kMs}, kTimes).granted);
  EXPECT_TRUE(
      token.request({.context = 3, .now = 30 * kMs, .ready = 0, .want = kMs}, kTimes).granted);
}

TEST(ComputeToken, AContextThatLeavesGivesTheGpuBack) {
  ComputeToken token;
  ASSERT_TRUE(token.request({.context = 1, .now = 0, .ready = 0, .want = kMs, .more = true}, kTimes)
                  .granted);
  token.leave(1);
  EXPECT_TRUE(
      token.request({.context = 2, .now = 10 * kUs, .ready = 0, .want = kMs}, kTimes).granted);
}

}  // namespace
}  // namespace nvs::sim
