// SPDX-License-Identifier: Apache-2.0
#include "daemon/origins.h"

#include <vector>

#include <gtest/gtest.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

using Answer = Origins::Answer;

constexpr Instant kLater = Instant{} + Duration::from_s(1000);

class OriginsTest : public ::testing::Test {
 protected:
  void fill(const std::string& origin, Instant now) {
    for (std::size_t i = 0; i < kOriginClientsMax; ++i) {
      ASSERT_EQ(origins_.enter(origin, now), Answer::welcome) << i;
    }
  }
  Origins origins_;
};

TEST_F(OriginsTest, EachHasPlacesOfItsOwn) {
  fill("user:1", kLater);
  EXPECT_EQ(origins_.enter("user:1", kLater), Answer::too_many);
  EXPECT_EQ(origins_.enter("user:2", kLater), Answer::welcome);
  origins_.leave("user:1", kLater);
  EXPECT_EQ(origins_.enter("user:1", kLater + Duration::from_s(1)), Answer::welcome);
}

TEST_F(OriginsTest, WhoComesAgainAndAgainIsSlowedDown) {
  for (std::size_t i = 0; i < kOriginClientsMax; ++i) {
    ASSERT_EQ(origins_.enter("user:1", kLater), Answer::welcome) << i;
    origins_.leave("user:1", kLater);
  }
  EXPECT_EQ(origins_.enter("user:1", kLater), Answer::too_often);
  EXPECT_EQ(origins_.enter("user:2", kLater), Answer::welcome);
  const Instant soon = kLater + Duration::from_s(1) / kVisitsPerSecond;
  EXPECT_EQ(origins_.enter("user:1", soon), Answer::welcome);
  EXPECT_EQ(origins_.enter("user:1", soon), Answer::too_often) << "a refusal costs nothing more";
}

TEST_F(OriginsTest, WhoPassesDescriptorsThatStayOpenGetsNoMoreIn) {
  std::vector<os::ForeignFile::Ticket> open;
  for (std::size_t i = 0; i < kOriginFilesMax; ++i) {
    auto ticket = origins_.take_ticket("user:1");
    ASSERT_TRUE(ticket) << i;
    open.push_back(std::move(*ticket));
  }
  EXPECT_FALSE(origins_.take_ticket("user:1"));
  EXPECT_TRUE(origins_.take_ticket("user:2"));
  EXPECT_TRUE(origins_.take_ticket("")) << "root is not counted";
  open.pop_back();
  EXPECT_TRUE(origins_.take_ticket("user:1"));
}

TEST_F(OriginsTest, WhoHasDescriptorsOpenIsKeptInMind) {
  const auto open = origins_.take_ticket("user:0");
  for (std::size_t i = 0; i < 2 * kOriginsKept; ++i) {
    const std::string origin = "user:" + std::to_string(i + 1);
    ASSERT_EQ(origins_.enter(origin, kLater), Answer::welcome);
    origins_.leave(origin, kLater);
  }
  const Instant much_later = kLater + Duration::from_s(3600);
  ASSERT_EQ(origins_.enter("user:1", much_later), Answer::welcome);
  EXPECT_EQ(origins_.count(), 2U) << "and who has just come";
}

// How many messages of it are taken at that instant.
std::int64_t messages_read(Origins& origins, const std::string& origin, Instant now) {
  std::int64_t count = 0;
  for (; origins.may_be_read(origin, now) && count < 1'000'000; ++count) {
    origins.count_message(origin, now);
  }
  return count;
}

TEST_F(OriginsTest, AllItsClientsTogetherAreReadAtABoundedRate) {
  ASSERT_EQ(origins_.enter("user:1", kLater), Answer::welcome);
  ASSERT_EQ(origins_.enter("user:1", kLater), Answer::welcome);
  ASSERT_EQ(origins_.enter("user:2", kLater), Answer::welcome);
  const std::int64_t burst = kOriginMessagesPerSecond / 2;
  EXPECT_EQ(messages_read(origins_, "user:1", kLater), burst + 1)
      << "one may be paid for afterwards";
  EXPECT_TRUE(origins_.may_be_read("user:2", kLater));
  EXPECT_EQ(messages_read(origins_, "user:1", kLater + Duration::from_ms(100)),
            kOriginMessagesPerSecond / 10);
}

TEST_F(OriginsTest, WhoeverUsesSeveralGpusMaySayAsMuchOfEach) {
  ASSERT_EQ(origins_.enter("user:1", kLater), Answer::welcome);
  for (std::int64_t i = 0; i < 8 * kOriginMessagesPerSecond / 2; ++i) {
    ASSERT_TRUE(origins_.may_be_read("user:1", kLater)) << i;
    origins_.count_message("user:1", kLater, 8);
  }
  origins_.budgets("user:1")->messages.charge(kLater, 1);
  EXPECT_FALSE(origins_.may_be_read("user:1", kLater));
}

// Each may say a few hundred messages a second, and all at the same moment after a pause.
TEST_F(OriginsTest, AJobOfManyProcessesIsAlwaysRead) {
  constexpr int kProcesses = 64;
  constexpr int kPerSecond = 500;
  ASSERT_EQ(origins_.enter("user:1", kLater), Answer::welcome);
  for (int number = 0; number < 10 * kPerSecond; ++number) {
    const Instant now = kLater + Duration::from_s(1) * number / kPerSecond;
    for (int process = 0; process < kProcesses; ++process) {
      ASSERT_TRUE(origins_.may_be_read("user:1", now)) << number;
      origins_.count_message("user:1", now);
    }
  }
}

TEST_F(OriginsTest, WhatItsStalledDrainsBringAboutIsBounded) {
  ASSERT_EQ(origins_.enter("user:1", kLater), Answer::welcome);
  OriginBudgets* budgets = origins_.budgets("user:1");
  ASSERT_NE(budgets, nullptr);
  SharedBudget* let_ins = &budgets->let_ins;
  std::size_t packets = 0;
  for (; let_ins->is_open(kLater); packets += kOriginClientsMax) {
    let_ins->charge(kLater, kOriginClientsMax);
  }
  EXPECT_LE(packets, static_cast<std::size_t>(kLetInsPerSecond) + kOriginClientsMax);
  EXPECT_TRUE(let_ins->is_open(kLater + Duration::from_s(1)));
  EXPECT_EQ(origins_.budgets("user:1"), budgets) << "reconnecting gains nothing";
}

TEST_F(OriginsTest, WhoHasUsedItsShareIsKeptInMind) {
  ASSERT_EQ(origins_.enter("user:0", kLater), Answer::welcome);
  origins_.budgets("user:0")->let_ins.charge(kLater, 10 * kLetInsPerSecond);
  const Instant soon = kLater + Duration::from_s(5);
  origins_.leave("user:0", soon);
  for (std::size_t i = 0; i < 2 * kOriginsKept; ++i) {
    const std::string origin = "user:" + std::to_string(i + 1);
    ASSERT_EQ(origins_.enter(origin, soon), Answer::welcome);
    origins_.leave(origin, soon);
  }
  ASSERT_EQ(origins_.enter("user:0", soon), Answer::welcome);
  EXPECT_FALSE(origins_.budgets("user:0")->let_ins.is_open(soon));
}

TEST_F(OriginsTest, WhoCouldEndTheDaemonIsNotCounted) {
  constexpr uid_t kSelf = 8;
  Peer peer;
  EXPECT_EQ(origin_of(peer, kSelf), "") << "root";
  peer.uid = kSelf;
  EXPECT_EQ(origin_of(peer, kSelf), "");
  peer.uid = 7;
  EXPECT_EQ(origin_of(peer, kSelf), "user:7");
  peer.in_container = true;
  peer.tenant_key = "container:/a";
  for (const uid_t uid : {0U, kSelf}) {
    peer.uid = uid;
    EXPECT_EQ(origin_of(peer, kSelf), "container:/a") << uid;
  }
  for (std::size_t i = 0; i < 2 * kOriginClientsMax; ++i) {
    ASSERT_EQ(origins_.enter("", kLater), Answer::welcome);
  }
  EXPECT_EQ(messages_read(origins_, "", kLater), 1'000'000) << "as many as were tried";
  EXPECT_EQ(origins_.budgets(""), nullptr);
  EXPECT_EQ(origins_.count(), 0U);
}

// He can make up containers by naming cgroups, and newuidmap lends him uids.
TEST_F(OriginsTest, WhateverIsInAUsersSliceIsOfThatUser) {
  constexpr uid_t kSelf = 8;
  Peer peer;
  peer.slice_user = 1000;
  EXPECT_EQ(origin_of(peer, kSelf), "") << "root, once somebody has become it";
  for (const uid_t uid : {1000U, 100'000U, 165'535U}) {
    peer.uid = uid;
    EXPECT_EQ(origin_of(peer, kSelf), "user:1000") << uid;
  }
  peer.in_container = true;
  for (const char* key : {"container:/user.slice/a", "container:/user.slice/b"}) {
    for (const uid_t uid : {0U, kSelf, 1000U, 100'000U}) {
      peer.tenant_key = key;
      peer.uid = uid;
      EXPECT_EQ(origin_of(peer, kSelf), "user:1000") << key << " " << uid;
    }
  }
}

TEST_F(OriginsTest, ThoseThatHaveGoneAreForgotten) {
  Instant now = kLater;
  for (int i = 0; i < 1000; ++i) {
    now = now + Duration::from_s(1);
    const std::string origin = "user:" + std::to_string(i);
    EXPECT_EQ(origins_.enter(origin, now), Answer::welcome);
    origins_.leave(origin, now);
  }
  EXPECT_LE(origins_.count(), kOriginsKept + 1);
}

}  // namespace
}  // namespace nvs::daemon
