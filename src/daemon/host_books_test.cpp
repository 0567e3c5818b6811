// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_books.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr std::uint64_t kBooksSegment = std::uint64_t{2} << 20U;
constexpr core::ClientId kFirst{1}, kSecond{2}, kThird{3};

core::TenantId tenant(std::uint64_t number) { return core::TenantId{number}; }

// The books, and whoever does what they say.
class HostBooksTest : public ::testing::Test {
 protected:
  void join(core::ClientId client, std::uint64_t of) { books_.join(client, tenant(of), actions_); }
  void need(core::ClientId client, std::uint64_t segments, std::uint64_t request = 0) {
    books_.need(client, request, segments * kBooksSegment, actions_);
  }
  // Everything that takes time, until nothing is left to do.
  void work() {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const HostBooks::Action action = actions_[i];
      if (const auto* touch = std::get_if<HostBooks::Touch>(&action)) {
        books_.touched(touch->segment, actions_);
      } else if (const auto* free = std::get_if<HostBooks::Free>(&action)) {
        books_.freed(free->segment, actions_);
      } else if (const auto* given = std::get_if<HostBooks::HandOver>(&action)) {
        given_.push_back(*given);
      } else if (const auto* told = std::get_if<HostBooks::TellShort>(&action)) {
        is_short_[told->client] = told->is_short;
      } else {
        denied_.push_back(std::get<HostBooks::Deny>(action));
      }
    }
    actions_.clear();
  }
  std::uint64_t held(std::uint64_t of) {
    work();
    const HostView view = books_.view();
    const auto found = view.tenants.find(tenant(of));
    return found == view.tenants.end() ? 0 : found->second / kBooksSegment;
  }

  HostBooks books_{HostPlan{8 * kBooksSegment, kBooksSegment, 8, 2}};
  HostBooks::Actions actions_;
  std::vector<HostBooks::HandOver> given_;
  std::vector<HostBooks::Deny> denied_;
  std::map<core::ClientId, bool> is_short_;  // as they were told
};

TEST_F(HostBooksTest, ARequestIsServedPieceByPiece) {
  join(kFirst, 1);
  books_.need(kFirst, 5, 2 * kBooksSegment + 1, actions_);
  EXPECT_EQ(books_.view().promised_bytes, 3 * kBooksSegment);
  EXPECT_EQ(books_.view().touching_bytes, kHostTouchingMax * kBooksSegment);
  EXPECT_EQ(held(1), 3U);
  ASSERT_EQ(given_.size(), 3U);
  for (const auto& given : given_) {
    EXPECT_EQ(given.client, kFirst);
    EXPECT_EQ(given.request, 5U);
  }
  EXPECT_TRUE(denied_.empty());
  EXPECT_EQ(books_.view().ready_bytes, 0U) << "alone there is no reserve";
}

TEST_F(HostBooksTest, WhatIsGivenBackGoesToTheSystem) {
  join(kFirst, 1);
  need(kFirst, 1);
  work();
  const SegmentId segment = given_.at(0).segment;
  EXPECT_FALSE(books_.give_back(kFirst, SegmentId{99}, actions_));
  ASSERT_TRUE(books_.give_back(kFirst, segment, actions_));
  EXPECT_FALSE(books_.give_back(kFirst, segment, actions_)) << "twice";
  EXPECT_EQ(books_.view().freeing_bytes, kBooksSegment);
  EXPECT_EQ(books_.view().held_bytes, 0U);
  need(kFirst, 1);
  work();
  EXPECT_NE(given_.at(1).segment, segment);
}

TEST_F(HostBooksTest, OnlyWhoHoldsASegmentGivesItBack) {
  join(kFirst, 1);
  join(kSecond, 1);
  need(kFirst, 1);
  work();
  EXPECT_FALSE(books_.give_back(kSecond, given_.at(0).segment, actions_));
  EXPECT_EQ(held(1), 1U);
}

TEST_F(HostBooksTest, TheLastQuarterIsForTheNextOne) {
  join(kFirst, 1);
  need(kFirst, 9, 5);
  EXPECT_EQ(held(1), 6U);
  ASSERT_EQ(denied_.size(), 1U);
  EXPECT_EQ(denied_[0].reason, wire::HostDenial::share);
  EXPECT_EQ(denied_[0].request, 5U);
  EXPECT_EQ(denied_[0].bytes, 3 * kBooksSegment);
  join(kSecond, 2);
  need(kSecond, 3);
  EXPECT_EQ(held(2), 2U);
  EXPECT_EQ(denied_.at(1).reason, wire::HostDenial::share);
  need(kFirst, 1);
  work();
  EXPECT_EQ(denied_.at(2).reason, wire::HostDenial::full);
  EXPECT_EQ(books_.view().refused, 3U);
}

TEST_F(HostBooksTest, TheOthersPartsOfTheQuarterAreEqual) {
  for (std::uint64_t i = 1; i <= 3; ++i) join(core::ClientId{i}, i);
  need(kFirst, 8);
  need(kSecond, 8);
  need(kThird, 8);
  EXPECT_EQ(held(1), 6U);
  EXPECT_EQ(held(2), 1U);
  EXPECT_EQ(held(3), 1U);
}

TEST_F(HostBooksTest, WhoHasItsPartLeavesTheRestToWhoHasNot) {
  join(kFirst, 1);
  join(kSecond, 2);
  need(kSecond, 2);
  need(kFirst, 8);
  EXPECT_EQ(held(1), 6U) << "the other one has its quarter";
  EXPECT_EQ(held(2), 2U);
}

// Parts smaller than a segment would be of use to nobody.
TEST_F(HostBooksTest, WithManyTenantsTheFirstToAskHaveTheQuarter) {
  for (std::uint64_t i = 1; i <= 5; ++i) join(core::ClientId{i}, i);
  need(kFirst, 8);
  for (std::uint64_t i = 2; i <= 5; ++i) need(core::ClientId{i}, 8);
  EXPECT_EQ(held(1), 6U);
  EXPECT_EQ(held(2) + held(3), 2U);
  EXPECT_EQ(held(4) + held(5), 0U);
}

TEST_F(HostBooksTest, WhoHoldsLeastIsServedFirst) {
  join(kFirst, 1);
  join(kSecond, 2);
  need(kFirst, 4);
  need(kSecond, 2);
  work();
  std::vector<core::ClientId> order;
  for (const auto& given : given_) order.push_back(given.client);
  EXPECT_EQ(order, (std::vector{kFirst, kSecond, kFirst, kSecond, kFirst, kFirst}));
}

TEST_F(HostBooksTest, WhatIsBeingFreedIsWaitedFor) {
  join(kFirst, 1);
  need(kFirst, 6);
  work();
  join(kSecond, 2);
  books_.leave(kFirst, actions_);
  EXPECT_EQ(books_.view().freeing_bytes, 6 * kBooksSegment);
  need(kSecond, 6);
  EXPECT_EQ(books_.view().touching_bytes, 2 * kBooksSegment) << "there is no room for more so far";
  EXPECT_EQ(held(2), 6U);
  EXPECT_TRUE(denied_.empty());
}

TEST_F(HostBooksTest, TheReserveComesWithTheSecondTenantAndTheFirstRequest) {
  join(kFirst, 1);
  need(kFirst, 1);
  work();
  EXPECT_EQ(books_.view().ready_bytes, 0U);
  join(kSecond, 1);
  work();
  EXPECT_EQ(books_.view().ready_bytes, 0U) << "another client, but the same tenant";
  join(kThird, 2);
  work();
  EXPECT_EQ(books_.view().ready_bytes, 2 * kBooksSegment);
  books_.leave(kThird, actions_);
  work();
  EXPECT_EQ(books_.view().ready_bytes, 2 * kBooksSegment) << "kept for who comes next";
  need(kFirst, 1);
  EXPECT_EQ(actions_.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<HostBooks::HandOver>(actions_.at(0))) << "at once";
  books_.leave(kFirst, actions_);
  books_.leave(kSecond, actions_);
  work();
  EXPECT_EQ(books_.view().ready_bytes, 0U);
}

TEST_F(HostBooksTest, WithoutARequestThereIsNoReserve) {
  join(kFirst, 1);
  join(kSecond, 2);
  EXPECT_TRUE(actions_.empty());
  need(kFirst, 1);
  work();
  books_.leave(kFirst, actions_);
  books_.leave(kSecond, actions_);
  work();
  join(kSecond, 2);
  join(kThird, 3);
  EXPECT_TRUE(actions_.empty()) << "those who are here have not asked";
}

TEST_F(HostBooksTest, WithoutMemoryWhoeverWaitsIsDenied) {
  join(kFirst, 1);
  join(kSecond, 2);
  need(kFirst, 3, 5);
  need(kSecond, 1, 6);
  const auto first = std::get<HostBooks::Touch>(actions_.at(0));
  const auto second = std::get<HostBooks::Touch>(actions_.at(1));
  actions_.clear();
  books_.failed(first.segment, actions_);
  work();
  ASSERT_EQ(denied_.size(), 2U);
  EXPECT_EQ(denied_[0].reason, wire::HostDenial::no_memory);
  EXPECT_EQ(denied_[0].bytes, 3 * kBooksSegment);
  EXPECT_EQ(denied_[1].client, kSecond);
  EXPECT_EQ(books_.view().promised_bytes, 0U);
  EXPECT_EQ(books_.view().touching_bytes, kBooksSegment) << "the other one, and no new one";
  EXPECT_EQ(books_.view().ready_bytes, 0U);
  books_.failed(second.segment, actions_);
  work();
  EXPECT_EQ(books_.view().touching_bytes, 0U);
  EXPECT_EQ(books_.view().ready_bytes, 0U) << "it is not tried without end";
  need(kFirst, 1);
  EXPECT_EQ(held(1), 1U) << "it is tried again when somebody asks";
}

TEST_F(HostBooksTest, WhatWasKeptFromAnEarlierDaemonCountsAsLent) {
  join(kFirst, 1);
  join(kSecond, 2);
  books_.keep(kFirst, 3 * kBooksSegment - 1, actions_);
  EXPECT_EQ(books_.view().kept_bytes, 3 * kBooksSegment);
  EXPECT_EQ(held(1), 3U);
  need(kFirst, 8);
  EXPECT_EQ(held(1), 6U) << "a quarter is the other's";
  need(kSecond, 8);
  EXPECT_EQ(held(2), 2U);
  ASSERT_EQ(denied_.size(), 2U);
  EXPECT_EQ(denied_[1].bytes, 6 * kBooksSegment);
  books_.keep(kFirst, kBooksSegment, actions_);  // some of it was let go
  EXPECT_EQ(books_.view().kept_bytes, kBooksSegment);
  need(kSecond, 2);
  EXPECT_EQ(held(2), 4U);
  books_.leave(kFirst, actions_);
  EXPECT_EQ(books_.view().kept_bytes, 0U);
  EXPECT_EQ(held(1), 0U);
}

TEST_F(HostBooksTest, WhoSaysThatItKeptAllTakesNothingFromOthers) {
  join(kFirst, 1);
  join(kSecond, 2);
  books_.keep(kFirst, 1000 * kBooksSegment, actions_);
  EXPECT_EQ(held(1), 6U) << "as if it had asked";
  need(kSecond, 2);
  EXPECT_EQ(held(2), 2U);
}

TEST_F(HostBooksTest, WhatWasKeptTakesThePlaceOfWhatWasMadeAhead) {
  join(kFirst, 1);
  join(kSecond, 2);
  need(kSecond, 2);
  EXPECT_EQ(held(2), 2U);
  EXPECT_EQ(books_.view().ready_bytes, 2 * kBooksSegment);
  books_.keep(kFirst, 5 * kBooksSegment, actions_);
  EXPECT_EQ(held(1), 5U);
  EXPECT_EQ(books_.view().ready_bytes, kBooksSegment);
}

TEST_F(HostBooksTest, WithoutAPoolNothingIsKeptOrLacking) {
  HostBooks none{HostPlan{}};
  none.join(kFirst, tenant(1), actions_);
  none.keep(kFirst, kBooksSegment, actions_);
  none.lack(kFirst, kBooksSegment, actions_);
  EXPECT_EQ(none.view().kept_bytes, 0U);
  EXPECT_TRUE(actions_.empty());
}

TEST_F(HostBooksTest, WhoLacksMemoryGetsTheOthersQuarterToo) {
  join(kFirst, 1);
  need(kFirst, 8);
  EXPECT_EQ(held(1), 6U);
  books_.lack(kFirst, kBooksSegment + 1, actions_);
  EXPECT_EQ(held(1), 8U);
  EXPECT_TRUE(is_short_.empty()) << "there was enough";
}

TEST_F(HostBooksTest, ThePoolIsShortUntilNobodyLacksAnything) {
  join(kFirst, 1);
  join(kSecond, 2);
  need(kFirst, 6);
  need(kSecond, 2);
  work();
  books_.lack(kSecond, 2 * kBooksSegment, actions_);
  work();
  EXPECT_EQ(is_short_, (std::map<core::ClientId, bool>{{kFirst, true}, {kSecond, true}}));
  join(kThird, 3);
  work();
  EXPECT_TRUE(is_short_.at(kThird)) << "who comes is told";
  ASSERT_TRUE(books_.give_back(kFirst, given_.at(0).segment, actions_));
  EXPECT_EQ(held(2), 3U);
  EXPECT_TRUE(is_short_.at(kFirst)) << "one more is missing";
  ASSERT_TRUE(books_.give_back(kFirst, given_.at(2).segment, actions_));
  EXPECT_EQ(held(2), 4U);
  EXPECT_EQ(is_short_,
            (std::map<core::ClientId, bool>{{kFirst, false}, {kSecond, false}, {kThird, false}}));
}

TEST_F(HostBooksTest, WhatIsPromisedIsNotLacking) {
  join(kFirst, 1);
  books_.need(kFirst, 1, 2 * kBooksSegment, actions_);
  books_.lack(kFirst, 2 * kBooksSegment, actions_);
  EXPECT_EQ(held(1), 2U);
}

TEST_F(HostBooksTest, WhoLacksNothingAnyMoreOrLeavesEndsTheShortage) {
  join(kFirst, 1);
  join(kSecond, 2);
  books_.lack(kFirst, 8 * kBooksSegment, actions_);
  EXPECT_EQ(held(1), 8U);
  books_.lack(kSecond, 1, actions_);
  work();
  EXPECT_TRUE(is_short_.at(kFirst));
  books_.lack(kSecond, 0, actions_);
  work();
  EXPECT_FALSE(is_short_.at(kFirst));
  books_.lack(kSecond, 1, actions_);
  books_.leave(kSecond, actions_);
  work();
  EXPECT_FALSE(is_short_.at(kFirst));
}

TEST_F(HostBooksTest, WhoHasAllOfItLacksNothing) {
  join(kFirst, 1);
  join(kSecond, 2);
  books_.lack(kFirst, 1000 * kBooksSegment, actions_);
  books_.lack(kFirst, 1000 * kBooksSegment, actions_);
  EXPECT_EQ(held(1), 8U);
  EXPECT_TRUE(is_short_.empty());
}

TEST_F(HostBooksTest, WhatIsFreeIsSharedByThoseWhoLackIt) {
  join(kFirst, 1);
  join(kSecond, 2);
  join(kThird, 3);
  books_.lack(kThird, 8 * kBooksSegment, actions_);
  EXPECT_EQ(held(3), 8U);
  books_.lack(kFirst, 8 * kBooksSegment, actions_);
  books_.lack(kSecond, 2 * kBooksSegment, actions_);
  books_.leave(kThird, actions_);
  EXPECT_EQ(held(1), 6U);
  EXPECT_EQ(held(2), 2U);
}

TEST_F(HostBooksTest, WithoutMemoryWhoLacksItWaitsForItsNextWord) {
  join(kFirst, 1);
  books_.lack(kFirst, kBooksSegment, actions_);
  const auto touch = std::get<HostBooks::Touch>(actions_.at(0));
  actions_.clear();
  books_.failed(touch.segment, actions_);
  work();
  EXPECT_TRUE(is_short_.at(kFirst)) << "others may give theirs to the system";
  EXPECT_EQ(books_.view().touching_bytes, 0U) << "it is not tried without end";
  EXPECT_TRUE(denied_.empty());
  books_.lack(kFirst, kBooksSegment, actions_);
  EXPECT_EQ(held(1), 1U);
  EXPECT_FALSE(is_short_.at(kFirst));
}

}  // namespace
}  // namespace nvs::daemon
