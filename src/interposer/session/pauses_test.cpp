// SPDX-License-Identifier: Apache-2.0
// What is told of a program's pauses while it goes on working.
#include "interposer/flow/flow.h"
#include "interposer/flow/test_events.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/tend.h"
#include "interposer/session/test_session.h"
#include "interposer/session/windows.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

constexpr std::int64_t kPauses_ns = 5'000'000;

class Pauses : public SessionTest {
 protected:
  // A window in which there were pauses of that length, and work goes on.
  void work(std::uint32_t flags) {
    flow::use_fake_events();
    gpu().phase = session::Phase::closed;
    session::open_window({.flags = flags, .grant = 7, .queue_bound_ns = 2'000'000});
    flow::fake_events.complete = false;
    ASSERT_TRUE(flow::count(0, nullptr, 1));
    flow::mark(0, nullptr);
    const std::int64_t since_ns = clock_ns() - 2 * kPauses_ns;
    gpu().account.begin(since_ns, flow::paused_ns(0) - kPauses_ns, true);
    empty_socket();
    session::tend();
  }
};

TEST_F(Pauses, AreToldOnceTheyAddUp) {
  work(wire::kBounded | wire::kCapped);
  const auto idle = heard<wire::Idle>();
  ASSERT_TRUE(idle);
  EXPECT_GE(idle->quiet_ns, kPauses_ns);
  EXPECT_TRUE(heard<wire::Busy>());
}

// Whoever is idle while somebody waits is taken to have given the window up.
TEST_F(Pauses, AreToldAtTheEndOfAWindowThatSomebodyWaitsFor) {
  work(wire::kBounded | wire::kAwaited);
  EXPECT_TRUE(heard_nothing());
  session::close_window({.grant = 7});
  empty_socket();
  complete_drain();
  const auto drained = heard<wire::Drained>();
  ASSERT_TRUE(drained);
  EXPECT_GE(drained->quiet_ns, kPauses_ns);
}

// Windows that nobody takes up, though a thread was woken for it.
class Missed : public Pauses {
 protected:
  void SetUp() override {
    Pauses::SetUp();
    flow::use_fake_events();
    gpu().phase = session::Phase::closed;
  }
  // Whether such a window is given up when it is so old. A machine that is late tells nothing.
  bool is_given_up_after(std::int64_t age_ns) {
    for (;;) {
      const int missed = gpu().missed;
      session::open_window({.flags = wire::kBounded | wire::kAwaited,
                            .grant = ++grant_,
                            .queue_bound_ns = 2'000'000});
      empty_socket();
      os::sleep_ns(age_ns - (clock_ns() - gpu().opened_ns));
      session::tend();
      const bool is_late = clock_ns() - gpu().opened_ns > age_ns + kLate_ns;
      const bool is_closed = gate::is_closed(0);
      if (!is_late) return is_closed;
      gpu().missed = missed;
      session::close_window({.grant = grant_});
      empty_socket();
    }
  }
  void end_window() {
    session::close_window({.grant = grant_});
    empty_socket();
  }
  static constexpr std::int64_t kMs = 1'000'000;
  static constexpr std::int64_t kLate_ns = kMs / 2;

 private:
  std::uint64_t grant_ = 100;
};

TEST_F(Missed, TheNextOneIsKeptForLonger) {
  EXPECT_TRUE(is_given_up_after(kMs));
  EXPECT_FALSE(is_given_up_after(kMs));
  end_window();
  EXPECT_TRUE(is_given_up_after(2 * kMs));
  EXPECT_FALSE(is_given_up_after(3 * kMs));
  end_window();
}

TEST_F(Missed, ButNotForEver) {
  gpu().missed = 1000;
  EXPECT_TRUE(is_given_up_after(16 * kMs));
}

TEST_F(Missed, UntilOneIsTakenUp) {
  gpu().missed = 3;
  session::open_window(
      {.flags = wire::kBounded | wire::kAwaited, .grant = 7, .queue_bound_ns = 2'000'000});
  flow::fake_events.complete = false;
  ASSERT_TRUE(flow::count(0, nullptr, 1));
  flow::mark(0, nullptr);
  session::tend();
  EXPECT_EQ(gpu().missed, 0);
}

}  // namespace
}  // namespace nvs::interposer
