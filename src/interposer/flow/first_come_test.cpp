// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/first_come.h"

#include <gtest/gtest.h>

namespace nvs::interposer::flow {
namespace {

constexpr std::int64_t kStep = 1'000'000;
constexpr std::int64_t kFirst = 100 * kStep;  // asked then
constexpr std::int64_t kSecond = 101 * kStep;
constexpr std::int64_t kThird = 102 * kStep;
constexpr std::int64_t kNow = 103 * kStep;
constexpr std::int64_t kEnough = kStep / 4;

class FirstComeTest : public testing::Test {
 protected:
  void SetUp() override { line.waits(kNow, kSecond, kEnough); }
  FirstCome line;
};

TEST_F(FirstComeTest, WhoAskedLaterLeavesItsRoom) {
  EXPECT_EQ(line.limit_ns(kNow, kThird), kEnough);
  EXPECT_EQ(line.limit_ns(kNow, kSecond), FirstCome::kNoLimit_ns) << "that is itself";
  EXPECT_EQ(line.limit_ns(kNow, kFirst), FirstCome::kNoLimit_ns);
}

TEST_F(FirstComeTest, OnceItHasComeInNobodyHasTo) {
  line.leaves(kThird);
  EXPECT_EQ(line.limit_ns(kNow, kThird), kEnough) << "that was another one";
  line.leaves(kSecond);
  EXPECT_EQ(line.limit_ns(kNow, kThird), FirstCome::kNoLimit_ns);
}

TEST_F(FirstComeTest, OfSeveralWhoWaitTheFirstCounts) {
  line.waits(kNow, kThird, 2 * kEnough);
  EXPECT_EQ(line.limit_ns(kNow, kThird), kEnough);
  line.waits(kNow, kFirst, 3 * kEnough);
  EXPECT_EQ(line.limit_ns(kNow, kSecond), 3 * kEnough);
}

TEST_F(FirstComeTest, OneThatAsksNoMoreIsForgotten) {
  EXPECT_EQ(line.limit_ns(kNow + FirstCome::kGone_ns, kThird), kEnough);
  EXPECT_EQ(line.limit_ns(kNow + FirstCome::kGone_ns + 1, kThird), FirstCome::kNoLimit_ns);
  line.waits(kNow + FirstCome::kGone_ns + 1, kThird, 2 * kEnough);
  EXPECT_EQ(line.limit_ns(kNow + FirstCome::kGone_ns + 1, kNow), 2 * kEnough);
}

// What runs may wait for one that is kept waiting.
TEST_F(FirstComeTest, NobodyIsKeptWaitingForLong) {
  std::int64_t now = kNow;
  for (; now <= kNow + FirstCome::kPrecedence_ns; now += kStep) {
    line.waits(now, kSecond, kEnough);
    EXPECT_EQ(line.limit_ns(now, kThird), kEnough);
  }
  line.waits(now, kSecond, kEnough);
  EXPECT_EQ(line.limit_ns(now, kThird), FirstCome::kNoLimit_ns);
  line.leaves(kSecond);
  line.waits(now, kThird, kEnough);
  EXPECT_EQ(line.limit_ns(now, now), kEnough) << "the next one has its own time";
}

// That it has waited long itself, for what ran already, takes none of that.
TEST_F(FirstComeTest, ThatTimeBeginsWhenSomebodyIsKeptWaiting) {
  std::int64_t now = kNow;
  for (; now <= kNow + 3 * FirstCome::kPrecedence_ns; now += kStep)
    line.waits(now, kSecond, kEnough);
  EXPECT_EQ(line.limit_ns(now, kThird), kEnough);
}

}  // namespace
}  // namespace nvs::interposer::flow
