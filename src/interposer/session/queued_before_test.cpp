// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/queued_before.h"

#include "interposer/flow/test_events.h"
#include "interposer/session/test_session.h"
#include "interposer/session/windows.h"

namespace nvs::interposer {
namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;

flow::Look look_at_marks(std::uint64_t oldest, std::uint64_t next) {
  flow::Look look{};
  look.oldest = oldest;
  look.next = next;
  return look;
}

TEST(QueuedBefore, GetsOnAsItsMarksComplete) {
  session::QueuedBefore before;
  before.begin(0, 0);
  before.note(0, look_at_marks(5, 8));
  before.note(1000, look_at_marks(5, 20));
  EXPECT_EQ(before.stuck_for_ns(1000), 1000) << "others have come";
  before.note(2000, look_at_marks(6, 20));
  EXPECT_EQ(before.stuck_for_ns(2500), 500);
  before.note(3000, look_at_marks(8, 20));
  EXPECT_EQ(before.stuck_for_ns(3500), 500) << "that was the last of it";
  before.note(4000, look_at_marks(15, 20));
  EXPECT_EQ(before.stuck_for_ns(4000), 1000) << "and those are others";
}

TEST(QueuedBefore, WithoutMarksGetsNowhereThatAnybodySees) {
  session::QueuedBefore before;
  before.begin(0, 0);
  before.note(0, look_at_marks(8, 8));
  before.note(1000, look_at_marks(9, 10));
  EXPECT_EQ(before.stuck_for_ns(1000), 1000);
}

TEST(QueuedBefore, HasTheTimeThatItWasThoughtToTake) {
  session::QueuedBefore before;
  before.begin(0, kSecond_ns / 2);
  EXPECT_LE(before.stuck_for_ns(kSecond_ns), 0);
  before.begin(0, 3600 * kSecond_ns);
  EXPECT_GT(before.stuck_for_ns(5 * kSecond_ns), kSecond_ns) << "a guess gone wrong";
  before.begin(0, 0);
  before.leave_out(kSecond_ns);
  EXPECT_EQ(before.stuck_for_ns(kSecond_ns), 0) << "nobody looked";
}

// Beside a kernel that does not end, somebody is let in again and again.
class LetInForNothing : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    flow::use_fake_events();
    gpu().phase = session::Phase::closed;
    session::open_window({.flags = wire::kBounded, .grant = 7, .queue_bound_ns = 2'000'000});
    flow::fake_events.complete = false;
    submit();
    session::close_window({.grant = 7});
    session::tend();
    ASSERT_EQ(gpu().phase, session::Phase::draining);
  }

  static void submit() {
    ASSERT_TRUE(flow::count(0, nullptr, 1));
    flow::mark(0, nullptr);
  }
  // As if somebody had come in just now, and so much time had gone by.
  static void let_in(std::int64_t span_ns) {
    gpu().drain.before.leave_out(-span_ns);
    gpu().drain.progress_ns -= span_ns;
    gpu().drain.let_in -= 1;
    session::let_in({.grant = 7});
    submit();
    session::tend();
  }
  static bool is_refused() { return gpu().phase == session::Phase::open; }
};

TEST_F(LetInForNothing, TheDrainIsRefusedInTheEnd) {
  for (int i = 0; i < 4; ++i) {
    let_in(kSecond_ns);
    EXPECT_FALSE(is_refused() && i == 0);
  }
  EXPECT_TRUE(is_refused());
}

TEST_F(LetInForNothing, NotWhileWhatWasQueuedBeforeGetsOn) {
  let_in(kSecond_ns);
  EXPECT_FALSE(is_refused());
  flow::fake_events.complete = true;
  session::tend();
  flow::fake_events.complete = false;
  let_in(kSecond_ns);
  EXPECT_FALSE(is_refused());
}

TEST_F(LetInForNothing, TimeBeforeThatDoesNotCount) {
  gpu().drain.before.leave_out(-3600 * kSecond_ns);
  session::tend();
  EXPECT_FALSE(is_refused());
}

}  // namespace
}  // namespace nvs::interposer
