// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/gate.h"

#include <csetjmp>
#include <thread>
#include <vector>

#include <pthread.h>

#include "interposer/gate/test_gate.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

// A thread that makes one launch, and can be seen waiting.
class Launcher {
 public:
  explicit Launcher(int on_device = 0)
      : thread_([this, on_device] {
          current_device = on_device;
          id_ = os::thread_id();
          launch();
          done_ = true;
        }) {}
  ~Launcher() { thread_.join(); }
  void wait_until_asleep() const {
    while (id_ == 0) std::this_thread::yield();
    interposer::wait_until_asleep(id_);
  }
  void wait_until_done() const {
    while (!done_) std::this_thread::yield();
  }
  bool done() const { return done_; }

 private:
  std::atomic<int> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST_F(GateTest, AnOpenGateLetsCallsThrough) {
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(fake.launches, 2);
}

TEST_F(GateTest, ACallIsMarkedWhileItIsInside) {
  std::vector<int> seen;
  fake.in_launch = [&seen] { seen.push_back(gate::threads_inside()); };
  launch();
  launch();
  EXPECT_EQ(seen, (std::vector<int>{1, 1}));
  EXPECT_EQ(gate::threads_inside(), 0);
}

TEST_F(GateTest, AClosedGateHoldsCallsUntilItOpens) {
  ASSERT_TRUE(gate::close(0, kNoLimit));
  {
    Launcher launcher;
    launcher.wait_until_asleep();
    EXPECT_EQ(fake.launches, 0);
    EXPECT_EQ(gate::threads_inside(), 0);
    gate::open(0);
  }
  EXPECT_EQ(fake.launches, 1);
}

TEST_F(GateTest, ClosingWaitsForCallsInside) {
  std::atomic<bool> let_go{false};
  fake.in_launch = [&let_go] {
    while (!let_go) std::this_thread::yield();
  };
  Launcher launcher;
  while (fake.inside == 0) std::this_thread::yield();
  EXPECT_FALSE(gate::close(0, 1'000'000));
  EXPECT_EQ(gate::word.load(), 0U) << "the gate is open again after the timeout";
  let_go = true;
  EXPECT_TRUE(gate::close(0, kNoLimit));
  EXPECT_EQ(fake.inside, 0);
  gate::open(0);
}

TEST_F(GateTest, ANestedCallPassesAClosedGate) {
  std::atomic<bool> closing{false};
  fake.in_launch = [&closing] {
    if (closing) return;
    closing = true;
    while (gate::word.load() == 0) std::this_thread::yield();
    launch();
  };
  Launcher launcher;
  while (!closing) std::this_thread::yield();
  EXPECT_TRUE(gate::close(0, kNoLimit));
  EXPECT_EQ(fake.launches, 2);
  gate::open(0);
}

TEST_F(GateTest, ACapturedCallPassesAClosedGate) {
  launch();
  ASSERT_TRUE(gate::close(0, kNoLimit));
  fake.capturing = true;
  fake.in_launch = [] { EXPECT_EQ(gate::threads_inside(), 0) << "it submits nothing"; };
  launch();
  EXPECT_EQ(fake.launches, 2);
  fake.capturing = false;
  gate::open(0);
}

TEST_F(GateTest, EachGpuHasItsOwn) {
  ASSERT_TRUE(gate::close(1, kNoLimit));
  Launcher other(0);
  other.wait_until_done();
  {
    Launcher held(1);
    held.wait_until_asleep();
    EXPECT_FALSE(held.done());
    EXPECT_EQ(fake.launches, 1);
    gate::open(1);
  }
  EXPECT_EQ(fake.launches, 2);
}

TEST_F(GateTest, AMarkThatALongjmpLeftBehindIsTakenOver) {
  static std::jmp_buf back;
  fake.in_launch = [] { std::longjmp(back, 1); };
  if (setjmp(back) == 0) launch();
  --fake.inside;
  EXPECT_EQ(gate::threads_inside(), 1);
  fake.in_launch = nullptr;
  launch();
  EXPECT_EQ(gate::threads_inside(), 0);
  EXPECT_TRUE(gate::close(0, kNoLimit));
  gate::open(0);
}

TEST_F(GateTest, AThreadThatEndsInsideACallIsNotWaitedFor) {
  fake.in_launch = [] { pthread_exit(nullptr); };
  pthread_t thread{};
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  launch();
                  return nullptr;
                },
                nullptr),
            0);
  pthread_join(thread, nullptr);
  fake.inside = 0;
  EXPECT_TRUE(gate::close(0, kNoLimit));
  gate::open(0);
}

// The one promise: between the return of close and open, nobody is inside the driver.
void hammer(int thread_count, int rounds) {
  std::atomic<bool> stop{false};
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < thread_count; ++i) {
    threads.emplace_back([&stop, &started] {
      launch();
      ++started;
      while (!stop) launch();
    });
  }
  while (started < thread_count) std::this_thread::yield();
  int broken = 0;
  for (int i = 0; i < rounds; ++i) {
    if (!gate::close(0, kNoLimit)) ++broken;
    const int before = fake.launches;
    if (fake.inside != 0) ++broken;
    if (i % 16 == 0) std::this_thread::yield();
    if (fake.inside != 0 || fake.launches != before) ++broken;
    gate::open(0);
    // Let them in again, to come upon them at another point of the call each time.
    for (int wait = i % 64; wait > 0; --wait) std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
}

TEST_F(GateTest, NobodyIsInsideWhileItIsClosed) { hammer(4, 200); }

TEST_F(GateTest, NorIsAThreadWithACoreOfItsOwn) { hammer(1, 10'000); }

TEST_F(GateTest, HoldsWhereMembarrierIsForbidden) {
  EXPECT_EQ(in_child([] {
              forbid_membarrier(Membarrier::refused);
              launch();
              EXPECT_NE(gate::word.load(), 0U) << "the fence is on";
              hammer(4, 100);
              hammer(1, 5'000);
            }),
            0);
}

TEST_F(GateTest, AFilterThatComesLateFailsOneClosingOnly) {
  EXPECT_EQ(in_child([] {
              launch();
              forbid_membarrier(Membarrier::refused);
              EXPECT_FALSE(gate::close(0, kNoLimit)) << "nobody knows who is inside";
              launch();
              EXPECT_EQ(fake.launches, 2) << "the gate is open again";
              EXPECT_TRUE(gate::close(0, kNoLimit));
              gate::open(0);
              hammer(1, 1'000);
            }),
            0);
}

TEST_F(GateTest, TheChildOfAForkIsFree) {
  launch();
  ASSERT_TRUE(gate::close(0, kNoLimit));
  EXPECT_EQ(in_child([] {
              fake.launches = 0;
              launch();
              EXPECT_EQ(fake.launches, 1);
              EXPECT_EQ(gate::threads_inside(), 0);
              EXPECT_TRUE(gate::close(0, kNoLimit));
            }),
            0);
  gate::open(0);
}

}  // namespace
}  // namespace nvs::interposer
