// SPDX-License-Identifier: Apache-2.0
#include "daemon/session.h"

#include <gtest/gtest.h>

#include "daemon/test_client.h"

namespace nvs::daemon {
namespace {

using Output = Session::Output;
using Declared = Session::Declared;

class SessionTest : public ::testing::Test {
 protected:
  static constexpr core::GpuId kFirst{0};
  static constexpr core::GpuId kSecond{1};

  // Sends until the socket takes no more; the numbers of the packets count up from 0.
  std::uint64_t fill() {
    std::uint64_t sent = 0;
    while (session_.send(wire::Pong{sent}) == Output::flowing) ++sent;
    return sent + 1;
  }

  UniqueFd daemon_end_;
  TestClient client_{daemon_end_};
  Session session_{core::ClientId{1}, std::move(daemon_end_), Instant{}};
};

TEST_F(SessionTest, WhatIsSentArrives) {
  EXPECT_EQ(session_.send(wire::Pong{7}), Output::flowing);
  EXPECT_EQ(client_.expect<wire::Pong>().number, 7U);
  EXPECT_TRUE(client_.has_nothing());
}

TEST_F(SessionTest, WhatASocketDoesNotTakeIsKeptInOrder) {
  std::uint64_t sent = fill();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(session_.send(wire::Pong{sent++}), Output::queued);
  EXPECT_EQ(session_.flush(), Output::queued) << "nobody has read";
  std::uint64_t read = 0;
  while (session_.flush() == Output::queued) EXPECT_EQ(client_.expect<wire::Pong>().number, read++);
  while (read < sent) EXPECT_EQ(client_.expect<wire::Pong>().number, read++);
  EXPECT_TRUE(client_.has_nothing());
  EXPECT_EQ(session_.send(wire::Pong{sent}), Output::flowing);
}

TEST_F(SessionTest, TheQueueIsBounded) {
  fill();
  for (std::size_t i = 1; i < kPacketsQueuedMax; ++i) {
    ASSERT_EQ(session_.send(wire::Pong{}), Output::queued) << i;
  }
  EXPECT_EQ(session_.send(wire::Pong{}), Output::stuck);
  client_.expect<wire::Pong>();
  EXPECT_EQ(session_.flush(), Output::stuck) << "it does not come back";
}

TEST_F(SessionTest, ABrokenConnectionIsGone) {
  client_.close();
  EXPECT_EQ(session_.send(wire::Pong{}), Output::gone);
  EXPECT_EQ(session_.output(), Output::gone);
}

TEST_F(SessionTest, NumbersOfGpusAreTheClientsOwn) {
  EXPECT_FALSE(session_.is_declared(5));
  EXPECT_EQ(session_.declare(5, kSecond), Declared::fresh);
  EXPECT_EQ(session_.declare(5, kSecond), Declared::again);
  EXPECT_EQ(session_.gpu_of(5), kSecond);
  EXPECT_EQ(session_.ordinal_of(kSecond), 5U);
  EXPECT_EQ(session_.ordinal_of(kFirst), std::nullopt);
}

TEST_F(SessionTest, ANumberMeansOneGpu) {
  ASSERT_EQ(session_.declare(0, kFirst), Declared::fresh);
  EXPECT_EQ(session_.declare(0, kSecond), Declared::conflict);
  EXPECT_EQ(session_.declare(1, kFirst), Declared::conflict);
  EXPECT_EQ(session_.declare(0, std::nullopt), Declared::conflict);
  EXPECT_FALSE(session_.is_declared(1));
}

TEST_F(SessionTest, GpusThatAreNotManagedHaveNumbersToo) {
  EXPECT_EQ(session_.declare(0, std::nullopt), Declared::fresh);
  EXPECT_EQ(session_.declare(1, std::nullopt), Declared::fresh);
  EXPECT_TRUE(session_.is_declared(0));
  EXPECT_EQ(session_.gpu_of(0), std::nullopt);
}

// How many messages pass at that instant.
int taken(Session& session, Instant now) {
  int count = 0;
  while (session.take_message(now)) ++count;
  return count;
}

TEST_F(SessionTest, MessagesAreCounted) {
  const Instant start;
  const auto per_second = static_cast<int>(kMessagesPerSecond);
  EXPECT_EQ(taken(session_, start), per_second / 4);
  EXPECT_EQ(taken(session_, start), 0);
  const Instant later = start + Duration::from_s(60);
  EXPECT_EQ(taken(session_, later), 2 * per_second) << "a burst, however long it was quiet";
  EXPECT_LE(taken(session_, later + Duration::from_ms(100)), per_second / 10);
}

// How many of so many messages a second pass, in so many seconds.
int taken_of(Session& session, int per_second, int seconds) {
  int count = 0;
  const Instant start = Instant{} + Duration::from_s(60);
  for (int number = 0; number < per_second * seconds; ++number) {
    const Instant now = start + Duration::from_s(1) * number / per_second;
    if (!session.take_message(now)) break;
    ++count;
  }
  return count;
}

TEST_F(SessionTest, WhoMovesMemoryMayTellEachChunkBesideItsOtherMessages) {
  session_.declare(0, kFirst);
  EXPECT_EQ(taken_of(session_, 2000 + 1500, 30), 30 * (2000 + 1500));
}

TEST_F(SessionTest, TenThousandASecondAreTooMany) {
  session_.declare(0, kFirst);
  EXPECT_LT(taken_of(session_, 10'000, 30), 2 * 10'000) << "ended within two seconds";
}

int stalls_taken(Session& session, Instant now) {
  int count = 0;
  while (session.take_stall(now)) ++count;
  return count;
}

TEST_F(SessionTest, DrainsStallNoMoreOftenThanClientsCanTell) {
  constexpr auto kPerSecond = static_cast<int>(kStallsPerSecond);
  session_.declare(0, kFirst);
  const Instant start = Instant{} + Duration::from_s(60);
  EXPECT_EQ(stalls_taken(session_, start), kPerSecond / 4);
  const Instant later = start + Duration::from_ms(100);
  EXPECT_EQ(stalls_taken(session_, later), kPerSecond / 10) << "what was refused cost nothing";
  session_.declare(1, kSecond);
  EXPECT_EQ(stalls_taken(session_, later + Duration::from_s(60)), 2 * kPerSecond / 4);
}

TEST_F(SessionTest, AClientThatTellsEveryStallIsHeard) {
  session_.declare(0, kFirst);
  for (int number = 0; number < 1000; ++number) {
    const Instant now = Instant{} + Duration::from_s(60) + Duration::from_ms(20) * number;
    ASSERT_TRUE(session_.take_stall(now)) << number;
  }
}

TEST_F(SessionTest, MoreGpusMayHaveMoreMessages) {
  session_.declare(0, kFirst);
  session_.declare(1, kSecond);
  session_.declare(2, std::nullopt);  // counts for nothing
  EXPECT_EQ(taken(session_, Instant{} + Duration::from_s(60)),
            2 * 2 * static_cast<int>(kMessagesPerSecond));
}

}  // namespace
}  // namespace nvs::daemon
