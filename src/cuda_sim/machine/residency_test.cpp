// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/residency.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cuda_sim/machine/machine.h"
#include "cuda_sim/machine/test_child.h"

namespace nvs::sim {
namespace {

class ResidencyTest : public testing::Test {
 protected:
  ResidencyTest() {
    settings_.NVSHARE_SIM_MACHINE = "residency-test-" + std::to_string(::getpid());
    settings_.NVSHARE_SIM_PRESET = "t4";
    settings_.NVSHARE_SIM_SCALE = 512;
    machine_ = join();
    room_ = machine_->capacity() / machine_->managed_block_bytes();
  }

  std::unique_ptr<Machine> join() const {
    auto machine = Machine::attach(settings_);
    if (!machine) ADD_FAILURE() << machine.error();
    return std::move(*machine);
  }

  static std::vector<BlockPlace> blocks(Machine& machine, std::size_t count) {
    std::vector<BlockPlace> made(count);
    std::uint64_t name = machine.name_blocks(count);
    for (BlockPlace& place : made) place.name = name++;
    return made;
  }

  static Migration touch(Machine& machine, std::vector<BlockPlace>& places) {
    std::vector<BlockTouch> touches;
    for (BlockPlace& place : places) touches.push_back({&place, false});
    return machine.touch_blocks(0, touches);
  }

  std::uint64_t used_blocks() { return machine_->used(0) / machine_->managed_block_bytes(); }

  Settings settings_;
  std::unique_ptr<Machine> machine_;
  std::uint64_t room_ = 0;
};

// The table in the segment must hold as many blocks as the largest card.
TEST(Residency, EveryCardHasAFrameForEachBlock) {
  for (const char* preset : {"h200", "t4"}) {
    EXPECT_LE(find_model(preset)->memory_bytes >> 21, kManagedFramesMax) << preset;
  }
}

TEST_F(ResidencyTest, BlocksOfADeadProcessAreRoomAgain) {
  const TestChild child([&] {
    auto machine = join();
    auto theirs = blocks(*machine, room_);
    touch(*machine, theirs);
    // Who is killed gives nothing back.
    static_cast<void>(machine.release());
  });
  ASSERT_TRUE(child.ran());
  EXPECT_EQ(used_blocks(), room_);
  child.kill();
  EXPECT_EQ(used_blocks(), 0U);
  auto ours = blocks(*machine_, room_);
  const Migration moved = touch(*machine_, ours);
  EXPECT_EQ(moved.in, room_);
  EXPECT_EQ(moved.out, 0U) << "the dead have nothing that is worth carrying";
}

// The next process gets the slot of the dead one, and another death makes everyone count again.
TEST_F(ResidencyTest, SlotOfTheDeadOwesNothingToItsNextOwner) {
  {
    const TestChild child([&] {
      auto machine = join();
      auto theirs = blocks(*machine, 10);
      touch(*machine, theirs);
      static_cast<void>(machine.release());
    });
    ASSERT_TRUE(child.ran());
    EXPECT_EQ(used_blocks(), 10U);
  }
  EXPECT_EQ(used_blocks(), 0U);
  const auto next = join();
  EXPECT_EQ(next->slot_index(), 1U);
  EXPECT_EQ(used_blocks(), 0U);
  {
    const TestChild child([&] { static_cast<void>(join().release()); });
    ASSERT_TRUE(child.ran());
  }
  EXPECT_EQ(used_blocks(), 0U);
}

TEST_F(ResidencyTest, RoomIsFoundForTheLivingBeforeTheyHaveToGo) {
  auto ours = blocks(*machine_, room_ / 2);
  touch(*machine_, ours);
  {
    const TestChild child([&] {
      auto machine = join();
      auto theirs = blocks(*machine, room_ / 2);
      touch(*machine, theirs);
      static_cast<void>(machine.release());
    });
    ASSERT_TRUE(child.ran());
  }
  auto more = blocks(*machine_, room_ / 2);
  EXPECT_EQ(touch(*machine_, more).out, 0U);
  EXPECT_EQ(touch(*machine_, ours).in, 0U);
}

// A process is killed after it has taken another's block away and before it has counted that.
TEST_F(ResidencyTest, CountsAreRightAfterADeathInTheMiddle) {
  auto ours = blocks(*machine_, 10);
  touch(*machine_, ours);
  {
    const TestChild child([&] {
      auto machine = join();
      machine->segment().frames[0][ours[3].frame].block = 0;
      static_cast<void>(machine.release());
    });
    ASSERT_TRUE(child.ran());
    EXPECT_EQ(used_blocks(), 10U) << "the one that knows better is alive";
  }
  EXPECT_EQ(used_blocks(), 9U);
  EXPECT_EQ(touch(*machine_, ours).in, 1U);
  EXPECT_EQ(used_blocks(), 10U);
}

TEST_F(ResidencyTest, ProcessThatLeavesTakesItsBlocksAlong) {
  auto ours = blocks(*machine_, 5);
  touch(*machine_, ours);
  {
    const auto other = join();
    auto theirs = blocks(*other, 7);
    touch(*other, theirs);
    EXPECT_EQ(used_blocks(), 12U);
  }
  EXPECT_EQ(used_blocks(), 5U);
  EXPECT_EQ(touch(*machine_, ours).in, 0U);
}

TEST_F(ResidencyTest, WhatCannotGoKeepsItsRoom) {
  const std::uint64_t block = machine_->managed_block_bytes();
  ASSERT_TRUE(machine_->charge(0, (room_ - 2) * block));
  auto ours = blocks(*machine_, 5);
  const Migration moved = touch(*machine_, ours);
  EXPECT_EQ(moved.in, 5U);
  EXPECT_EQ(moved.out, 3U);
  ASSERT_TRUE(machine_->charge(0, 2 * block));
  EXPECT_FALSE(machine_->charge(0, block));
  EXPECT_EQ(touch(*machine_, ours).left_out, 5U);
}

}  // namespace
}  // namespace nvs::sim
