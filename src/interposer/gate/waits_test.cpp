// SPDX-License-Identifier: Apache-2.0
#include "interposer/gate/waits.h"

#include <atomic>
#include <thread>

#include <pthread.h>
#include <time.h>

#include "interposer/gate/awake.h"
#include "interposer/gate/test_gate.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

constexpr std::int64_t kHour_ns = 3'600'000'000'000;
constexpr std::int64_t kSecond_ns = 1'000'000'000;

// A thread that waits for room until something changes.
class Waiter {
 public:
  explicit Waiter(const flow::Room& room)
      : thread_([this, room, seen = gate::waits::changes()] {
          id_ = os::thread_id();
          gate::waits::for_room(seen, room);
          done_ = true;
        }) {
    while (id_ == 0) std::this_thread::yield();
  }
  ~Waiter() {
    gate::waits::changed();
    thread_.join();
  }
  int id() const { return id_; }
  std::int64_t processor_ns() {
    clockid_t clock{};
    EXPECT_EQ(::pthread_getcpuclockid(thread_.native_handle(), &clock), 0);
    timespec used{};
    EXPECT_EQ(::clock_gettime(clock, &used), 0);
    return used.tv_sec * kSecond_ns + used.tv_nsec;
  }
  bool is_done() const { return done_; }

 private:
  std::atomic<int> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST(Waits, WhoHasTimeSleeps) {
  const Waiter waiter({.wait_ns = 2 * kHour_ns, .sleep_ns = kHour_ns, .counted = false});
  wait_until_asleep(waiter.id());
  EXPECT_FALSE(waiter.is_done());
}

TEST(Waits, OfASleepOnlyWhatThereIsTimeForIsSlept) {
  const Waiter waiter({.wait_ns = kHour_ns, .sleep_ns = 1'000'000, .counted = false});
  while (!waiter.is_done()) std::this_thread::yield();
}

void expect_awake(Waiter& waiter) {
  while (waiter.processor_ns() < 5'000'000) {
    ASSERT_FALSE(is_asleep(waiter.id()));
    std::this_thread::yield();
  }
}

TEST(Waits, WhoseMomentIsNearStaysAwakeButNotAll) {
  gate::waits::start_over_in_child();
  const flow::Room near{.wait_ns = kHour_ns, .sleep_ns = 0, .counted = false};
  static_assert(gate::kAwakeMax == 2);
  Waiter first(near);
  expect_awake(first);
  Waiter second(near);
  expect_awake(second);
  const Waiter third(near);
  wait_until_asleep(third.id());
}

TEST(Wakefulness, WhoWasKeptFromRunningSleepsForAWhile) {
  gate::Wakefulness wakefulness;
  EXPECT_TRUE(wakefulness.may_stay_awake(0));
  wakefulness.kept_from_running(5 * kSecond_ns);
  EXPECT_FALSE(wakefulness.may_stay_awake(5 * kSecond_ns));
  EXPECT_FALSE(wakefulness.may_stay_awake(6 * kSecond_ns - 1));
  EXPECT_TRUE(wakefulness.may_stay_awake(6 * kSecond_ns));
}

TEST(Wakefulness, ForTwiceAsLongIfThatWasOfNoUse) {
  gate::Wakefulness wakefulness;
  std::int64_t now_ns = 0;
  for (const std::int64_t seconds : {1, 2, 4, 8, 16, 32, 64, 64}) {
    wakefulness.kept_from_running(now_ns);
    wakefulness.kept_from_running(now_ns);  // another thread
    now_ns += seconds * kSecond_ns;
    EXPECT_FALSE(wakefulness.may_stay_awake(now_ns - 1)) << seconds;
    EXPECT_TRUE(wakefulness.may_stay_awake(now_ns)) << seconds;
  }
  now_ns += 64 * kSecond_ns;  // all went well
  wakefulness.kept_from_running(now_ns);
  EXPECT_TRUE(wakefulness.may_stay_awake(now_ns + kSecond_ns));
}

}  // namespace
}  // namespace nvs::interposer
