// SPDX-License-Identifier: Apache-2.0
// What clients are told about memory: which changes are worth a message, and what stays theirs once
// they were told.
#include <gtest/gtest.h>

#include "core/sim_memory.h"

namespace nvs::core {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

class Words : public MemoryTest {
 protected:
  // The GPU has so much more than 16 GiB.
  void grow(std::uint64_t bytes) { node.step(CapacitySet{GpuId{0}, 16 * kGiB + bytes}); }
  // It carries out its allowance as far as so many bytes that leave.
  void moves_out(int client, std::uint64_t bytes) {
    Held& it = held[{client, 0}];
    it.number = node.allowed(client).number;
    it.resident -= bytes;
    it.away += bytes;
    tell({client, 0});
  }
  std::uint64_t number(int client) const { return node.allowed(client).number; }
};

TEST_F(Words, SmallStepsAreNotWorthOne) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 2);
  has(2, 2);
  obey_all();
  const std::uint64_t first = number(1);
  for (int step = 0; step < 100; ++step) {
    held[{2, 0}].resident += kMiB;
    tell({2, 0});
  }
  EXPECT_EQ(number(1), first);
}

TEST_F(Words, LittleSlackIsNotWorthOne) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 8);
  has(2, 0, 8);
  obey_all();
  ASSERT_EQ(node.allowed(1).bytes, 8 * kGiB);
  const std::uint64_t first = number(1);
  grow(kMemoryStep * 3);
  EXPECT_EQ(number(1), first) << "three quarters of a chunk for each";
  grow(kMemoryStep * 4);
  EXPECT_EQ(node.allowed(1).bytes, 8 * kGiB + kMemoryStep);
}

TEST_F(Words, MoreSlackComesOnceHalfOfItIsUsed) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 8);
  has(2, 0, 8);
  obey_all();
  grow(4 * kGiB);
  ASSERT_EQ(node.allowed(1).bytes, 9 * kGiB);
  const std::uint64_t first = number(1);
  grow(8 * kGiB);
  EXPECT_EQ(number(1), first) << "it has 1, and could have 2";
  grow(9 * kGiB);
  EXPECT_EQ(node.allowed(1).bytes, 10 * kGiB + kGiB / 4);
}

// 2 has 12, and moves some of it out bit by bit.
TEST_F(Words, WhatComesInIsToldByTheChunkAndItsLastBitAtOnce) {
  constexpr std::uint64_t kBit = kMemoryStep / 4;
  node.join(1, 1);
  node.join(2, 2);
  has(2, 12);
  obey(2);
  node.pass_ms(2000);
  held[{1, 0}] = {0, 4 * kGiB, kMemoryStep + kBit};
  tell({1, 0});
  node.want(1);
  ASSERT_EQ(node.allowed(1).bytes, 4 * kGiB);
  const std::uint64_t first = number(1);
  for (int bits = 1; bits < 4; ++bits) {
    moves_out(2, kBit);
    EXPECT_EQ(number(1), first) << bits;
  }
  moves_out(2, kBit);
  EXPECT_EQ(node.allowed(1).bytes, 4 * kGiB + kMemoryStep);
  moves_out(2, kBit);
  EXPECT_EQ(node.allowed(1).bytes, 4 * kGiB + kMemoryStep + kBit);
}

// 2 does not run before 1 goes, so nobody waits for a last bit.
TEST_F(Words, WhatIsForLaterIsToldByTheChunk) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 12);
  node.saturate(1);
  has(2, 0, 8);
  node.saturate(2);
  obey_all();
  ASSERT_EQ(node.allowed(2).bytes, 4 * kGiB);
  const std::uint64_t first = number(2);
  grow(kMemoryStep / 2);
  EXPECT_EQ(number(2), first);
  grow(kMemoryStep);
  EXPECT_EQ(node.allowed(2).bytes, 4 * kGiB + kMemoryStep);
}

// Or each would be allowed what it asks for in turn, and nobody would ever get it.
TEST_F(Words, WhatOneMayTakeIsNotTakenBackForAnotherThatAsks) {
  node.join(1, 1);
  node.join(2, 2, Priority::high);
  node.join(3, 3);
  has(3, 12);
  pass_ms(2000);
  asks(1, 4);
  obey(3);
  ASSERT_EQ(allowed(1), 4U);
  asks(2, 13);
  for (int again = 0; again < 10; ++again) tell({3, 0});
  EXPECT_EQ(allowed(1), 4U);
  obey(1);
  EXPECT_EQ(resident(1), 4U);
}

TEST_F(Words, WhatOneMayTakeToTheLastByteIsItsOwnToo) {
  node.join(1, 1);
  node.join(2, 2);
  has(1, 8);
  has(2, 0, 4);
  asks(1, 4);
  obey(2);
  held[{1, 0}].number = number(1);
  tell({1, 0});
  obey(2);
  ASSERT_EQ(node.allowed(1).bytes, 12 * kGiB);
  node.want(2);
  asks(2, 2);  // it runs, and so comes first among those that ask
  EXPECT_EQ(allowed(1), 12U);
}

// Each asks for more than there is beside the other; the one that has work has done it.
TEST_F(Words, AStandstillEndsTheTurnAtOnce) {
  node.join(1, 1);
  node.join(2, 2);
  node.step(PolicySet{GpuId{0}, {Mode::automatic, Duration::from_ms(20), Duration::from_s(100)}});
  has(1, 8);
  has(2, 8);
  obey_all();
  node.want(1);
  asks(2, 4);
  node.pass_ms(1);
  asks(1, 4);
  obey_all();
  ASSERT_EQ(turns(), 0U);
  node.idle(1);
  EXPECT_EQ(turns(), 1U);
  ASSERT_TRUE(node.is_closing(1)) << "the other one has waited for longer";
  node.drained(1);
  obey_all();
  EXPECT_EQ(resident(2), 12U);
}

}  // namespace
}  // namespace nvs::core
