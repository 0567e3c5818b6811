// SPDX-License-Identifier: Apache-2.0
// What is told of a program's pauses while it goes on working.
#include "interposer/flow/flow.h"
#include "interposer/flow/test_events.h"
#include "interposer/resolve/clock.h"
#include "interposer/session/test_session.h"
#include "interposer/session/windows.h"

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

}  // namespace
}  // namespace nvs::interposer
