// SPDX-License-Identifier: Apache-2.0
// What the gate does for windows: letting single calls in while it is closed, and staying awake
// shortly before it opens.
#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <vector>

#include "interposer/gate/awake.h"
#include "interposer/gate/inside.h"
#include "interposer/gate/test_gate.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

// So many threads that each make one launch.
class Launchers {
 public:
  explicit Launchers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        ++begun_;
        launch();
        ++done_;
      });
    }
    while (begun_ < count) std::this_thread::yield();
  }
  ~Launchers() {
    for (std::thread& thread : threads_) thread.join();
  }
  void wait_for(int done) const {
    while (done_ < done) std::this_thread::yield();
  }
  int done() const { return done_; }

 private:
  std::atomic<int> begun_{0};
  std::atomic<int> done_{0};
  std::vector<std::thread> threads_;
};

TEST_F(GateTest, AClosedGateLetsOneInAtATime) {
  ASSERT_TRUE(gate::close(0, kNoLimit));
  const std::uint32_t before = gate::let_in_so_far(0);
  Launchers launchers(3);
  gate::let_one_in(0);
  launchers.wait_for(1);
  EXPECT_EQ(gate::let_in_so_far(0), before + 1);
  gate::let_one_in(0);
  launchers.wait_for(2);
  EXPECT_EQ(gate::let_in_so_far(0), before + 2);
  EXPECT_EQ(fake.launches, 2);
  EXPECT_TRUE(gate::is_closed(0));
  gate::open(0);
}

TEST_F(GateTest, APermitThatWasTakenBackLetsNobodyIn) {
  ASSERT_TRUE(gate::close(0, kNoLimit));
  gate::let_one_in(0);
  gate::let_nobody_in(0);
  const std::uint32_t before = gate::let_in_so_far(0);
  Launchers launchers(1);
  EXPECT_TRUE(gate::wait_until_outside(kNoLimit));
  EXPECT_EQ(gate::let_in_so_far(0), before);
  EXPECT_EQ(fake.launches, 0);
  gate::open(0);
}

TEST_F(GateTest, APermitOfAnEarlierClosingIsGone) {
  ASSERT_TRUE(gate::close(0, kNoLimit));
  gate::let_one_in(0);
  gate::open(0);
  ASSERT_TRUE(gate::close(0, kNoLimit));
  Launchers launchers(1);
  gate::let_one_in(0);
  launchers.wait_for(1);
  EXPECT_EQ(fake.launches, 1);
  gate::open(0);
}

// Whoever drains sees the call of each permit that was used, or takes the permit back.
TEST_F(GateTest, ADrainMissesNobodyWhoWasLetIn) {
  for (int round = 0; round < 200; ++round) {
    ASSERT_TRUE(gate::close(0, kNoLimit));
    const int launched = fake.launches;
    const std::uint32_t before = gate::let_in_so_far(0);
    Launchers launchers(1);
    gate::let_one_in(0);
    gate::let_nobody_in(0);
    ASSERT_TRUE(gate::wait_until_outside(kNoLimit));
    EXPECT_EQ(gate::let_in_so_far(0) - before,
              static_cast<std::uint32_t>(fake.launches - launched));
    gate::open(0);
  }
}

TEST_F(GateTest, ThreadsThatStayAwakePassWhenItOpens) {
  ASSERT_TRUE(gate::close(0, kNoLimit));
  {
    Launchers launchers(2);
    gate::get_ready(os::monotonic_ns() + 1'000'000'000);
    EXPECT_EQ(fake.launches, 0);
    gate::open(0);
  }
  EXPECT_EQ(fake.launches, 2);
}

TEST_F(GateTest, FewOfManyThreadsStayAwake) {
  constexpr int kThreads = 6;
  ASSERT_TRUE(gate::close(0, kNoLimit));
  std::atomic<int> ids[kThreads] = {};
  std::vector<std::thread> threads;
  gate::get_ready(os::monotonic_ns() + 3'600'000'000'000);
  for (std::atomic<int>& id : ids) {
    threads.emplace_back([&id] {
      id = os::thread_id();
      launch();
    });
  }
  const auto asleep = [&ids] {
    return std::count_if(std::begin(ids), std::end(ids),
                         [](int id) { return id != 0 && is_asleep(id); });
  };
  while (asleep() < kThreads - gate::kAwakeMax) std::this_thread::yield();
  EXPECT_EQ(fake.launches, 0);
  gate::get_ready(0);
  while (asleep() < kThreads) std::this_thread::yield();
  gate::open(0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fake.launches, kThreads);
}

TEST_F(GateTest, WhoNeedsSeveralGpusIsLetInWhereAllOfThemDo) {
  ASSERT_TRUE(gate::close(0, kNoLimit));
  ASSERT_TRUE(gate::close(1, kNoLimit));
  gate::let_one_in(0);
  std::atomic<int> id{0};
  std::atomic<bool> is_inside{false};
  std::thread thread([&] {
    id = os::thread_id();
    gate::inside([&is_inside] {
      is_inside = true;
      return CUDA_SUCCESS;
    });
  });
  while (id == 0) std::this_thread::yield();
  wait_until_asleep(id);
  EXPECT_FALSE(is_inside);
  EXPECT_TRUE(gate::may_let_in(0)) << "it is for somebody who needs that GPU alone";
  gate::let_one_in(1);
  thread.join();
  EXPECT_TRUE(is_inside);
  EXPECT_FALSE(gate::may_let_in(0));
  EXPECT_FALSE(gate::may_let_in(1));
  gate::open(0);
  gate::open(1);
}

TEST(AwakePlaces, APlaceThatWasNotGivenBackIsFreeWhenItsTimeIsOver) {
  gate::AwakePlaces places;
  for (int i = 0; i < gate::kAwakeMax; ++i) EXPECT_EQ(places.take(10, 20), i);
  EXPECT_EQ(places.take(19, 30), -1);
  EXPECT_EQ(places.take(20, 30), 0);
  places.give_back(0, 20);  // whose it was before
  EXPECT_EQ(places.take(21, 40), 1);
  EXPECT_EQ(places.take(22, 40), -1);
  places.give_back(0, 30);
  EXPECT_EQ(places.take(22, 40), 0);
}

TEST_F(GateTest, ThreadsThatStayedAwakeInVainSleepAgain) {
  ASSERT_TRUE(gate::close(0, kNoLimit));
  std::atomic<int> id{0};
  std::thread thread([&id] {
    id = os::thread_id();
    launch();
  });
  gate::get_ready(os::monotonic_ns() + 1'000'000);
  while (id == 0) std::this_thread::yield();
  wait_until_asleep(id);
  EXPECT_EQ(fake.launches, 0);
  gate::open(0);
  thread.join();
}

TEST_F(GateTest, WhoIsInsideWithoutAMarkOfItsOwnDoesNotWaitForItself) {
  const AllSlotsTaken taken;
  bool is_alone = false;
  std::thread([&is_alone] {
    gate::inside([&is_alone] {
      EXPECT_EQ(gate::thread_slot, nullptr);
      EXPECT_EQ(gate::threads_inside(), 1);
      is_alone = gate::close(0, 200'000'000);
      gate::open(0);
      return CUDA_SUCCESS;
    });
  }).join();
  EXPECT_TRUE(is_alone);
}

}  // namespace
}  // namespace nvs::interposer
