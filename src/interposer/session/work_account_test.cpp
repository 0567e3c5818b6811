// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/work_account.h"

#include <random>

#include <gtest/gtest.h>

namespace nvs::interposer::session {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kPause = 200'000;

// A daemon that believes what it is told, beside what was really worked.
class Books {
 public:
  explicit Books(bool billed) : billed_(billed) { account_.begin(0, 0, billed); }

  void look(std::int64_t now, const WorkSight& sight) {
    for (int i = 0; i < 2; ++i) {
      const WorkAccount::Word word = account_.next(now, sight);
      if (!word.due) return;
      tell(word, now);
      account_.told(word, now, sight);
      ++words_;
    }
  }
  std::int64_t billed(std::int64_t now) const { return billed_ns_ + (billed_ ? now - since_ : 0); }
  std::int64_t mirrored(std::int64_t now) const { return account_.used_ns(now); }
  int words() const { return words_; }

 private:
  void tell(const WorkAccount::Word& word, std::int64_t now) {
    billed_ns_ = billed(now) + (word.idle ? -word.span_ns : word.span_ns);
    billed_ = !word.idle;
    since_ = now;
  }

  WorkAccount account_;
  bool billed_;
  std::int64_t billed_ns_ = 0;
  std::int64_t since_ = 0;
  int words_ = 0;
};

TEST(WorkAccount, WhoeverWorksAllTheTimeSaysNothing) {
  Books books(true);
  for (std::int64_t now = kMs; now < 100 * kMs; now += kMs) books.look(now, {false, 0, 0});
  EXPECT_EQ(books.words(), 0);
  EXPECT_EQ(books.billed(100 * kMs), 100 * kMs);
}

TEST(WorkAccount, ThePauseBeforeIdleIsTakenBack) {
  Books books(true);
  books.look(15 * kMs, {true, 5 * kMs, 0});
  EXPECT_EQ(books.billed(15 * kMs), 10 * kMs);
  books.look(40 * kMs, {true, 30 * kMs, 0});
  EXPECT_EQ(books.billed(40 * kMs), 10 * kMs);
  EXPECT_EQ(books.words(), 1);
}

TEST(WorkAccount, WorkThatBeganBeforeTheLookIsBilled) {
  Books books(true);
  books.look(12 * kMs, {true, 2 * kMs, 0});
  books.look(25 * kMs, {false, 0, 11 * kMs});  // from 10 to 21
  EXPECT_EQ(books.billed(25 * kMs), 14 * kMs);
}

TEST(WorkAccount, APauseBetweenTwoLooksCounts) {
  Books books(true);
  books.look(10 * kMs, {false, 0, 3 * kMs});
  EXPECT_EQ(books.billed(10 * kMs), 7 * kMs);
  EXPECT_EQ(books.words(), 2) << "idle, and busy again";
}

TEST(WorkAccount, BurstsBetweenTwoLooksCount) {
  Books books(false);
  books.look(5 * kMs, {true, kMs, 2 * kMs});
  EXPECT_EQ(books.billed(5 * kMs), 2 * kMs);
  EXPECT_EQ(books.words(), 2) << "busy, and idle again";
}

// Something may have run that nobody knows of: what was told as idle stays so until there is more.
TEST(WorkAccount, IdlenessThatIsNotCertainIsNotBilled) {
  Books books(true);
  books.look(10 * kMs, {true, 5 * kMs, 0, false, 10 * kMs});
  EXPECT_EQ(books.billed(10 * kMs), 10 * kMs) << "but it is not taken back either";
  for (std::int64_t now = 15 * kMs; now < 100 * kMs; now += 5 * kMs) {
    books.look(now, {true, now - 5 * kMs, 0, false, now});
  }
  EXPECT_EQ(books.words(), 1);
  EXPECT_EQ(books.billed(100 * kMs), 10 * kMs);
  books.look(104 * kMs, {false, 0, 0, false, 3 * kMs});
  EXPECT_EQ(books.billed(104 * kMs), 13 * kMs) << "since its first submission";
}

TEST(WorkAccount, NoSpanIsLongerThanTheDaemonTakes) {
  constexpr auto kHour = static_cast<std::int64_t>(wire::kLongest_ns);
  WorkAccount account;
  account.begin(0, 0, true);
  EXPECT_EQ(account.next(5 * kHour, {true, 4 * kHour, 0}).span_ns, kHour);
  account.begin(0, 0, false);
  EXPECT_EQ(account.next(5 * kHour, {false, 0, 0}).span_ns, kHour);
}

// Work and pauses at random, looks at random: what is billed is what was worked, but for less than
// is worth telling.
TEST(WorkAccount, NothingIsLost) {
  std::mt19937_64 random(7);
  const auto up_to = [&random](std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  };
  for (int run = 0; run < 200; ++run) {
    Books books(up_to(1) == 0);
    std::int64_t now = 0;
    std::int64_t worked = 0;
    std::int64_t paused = 0;  // pauses that ended
    std::int64_t next_look = up_to(5 * kMs);
    for (int step = 0; step < 500; ++step) {
      const std::int64_t work = up_to(4 * kMs);
      for (; next_look < now + work; next_look += 1 + up_to(5 * kMs)) {
        if (next_look >= now) books.look(next_look, {false, 0, paused});
      }
      now += work;
      worked += work;
      const std::int64_t pause = kPause + up_to(6 * kMs);
      for (; next_look < now + pause; next_look += 1 + up_to(5 * kMs)) {
        const std::int64_t quiet = next_look - now;
        if (quiet >= kPause) books.look(next_look, {true, quiet, paused});
      }
      now += pause;
      paused += pause;
    }
    books.look(now, {false, 0, paused});
    EXPECT_NEAR(static_cast<double>(books.billed(now)), static_cast<double>(worked),
                WorkAccount::kWorthTelling_ns);
    EXPECT_EQ(books.billed(now), books.mirrored(now));
  }
}

}  // namespace
}  // namespace nvs::interposer::session
