// SPDX-License-Identifier: Apache-2.0
#include "daemon/origins.h"

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

TEST_F(OriginsTest, WhoPassesManyDescriptorsIsSlowedDown) {
  for (std::int64_t i = 0; i < kFilesAtOnce; ++i) {
    ASSERT_TRUE(origins_.pass_file("user:1", kLater)) << i;
  }
  EXPECT_FALSE(origins_.pass_file("user:1", kLater));
  EXPECT_TRUE(origins_.pass_file("user:2", kLater));
  EXPECT_TRUE(origins_.pass_file("", kLater)) << "root is not counted";
  const Instant soon = kLater + Duration::from_s(1) / kFilesPerSecond;
  EXPECT_TRUE(origins_.pass_file("user:1", soon));
  EXPECT_FALSE(origins_.pass_file("user:1", soon));
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
  EXPECT_EQ(origins_.count(), 0U);
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
