// SPDX-License-Identifier: Apache-2.0
// The books of a machine, in one process that joins it several times over.
#include "cuda_sim/machine/machine.h"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_sim/machine/test_child.h"

namespace nvs::sim {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class MachineTest : public testing::Test {
 protected:
  MachineTest() {
    settings_.NVSHARE_SIM_MACHINE = "machine-test-" + std::to_string(::getpid());
    settings_.NVSHARE_SIM_PRESET = "t4";
    settings_.NVSHARE_SIM_SCALE = 512;
    settings_.NVSHARE_SIM_GPUS = 2;
  }
  ~MachineTest() override {
    EXPECT_FALSE(file_exists());
    ::unlink(path().c_str());
  }

  std::string path() const {
    return "/dev/shm/nvshare-sim-" + std::to_string(::getuid()) + "-" +
           settings_.NVSHARE_SIM_MACHINE;
  }
  bool file_exists() const {
    struct stat info {};
    return ::stat(path().c_str(), &info) == 0;
  }
  std::unique_ptr<Machine> join() const { return Machine::attach(settings_).value(); }

  Settings settings_;
};

TEST_F(MachineTest, ChargesUpToTheLastByte) {
  const auto machine = join();
  const std::uint64_t capacity = machine->capacity();
  EXPECT_FALSE(machine->charge(0, capacity + 1));
  EXPECT_TRUE(machine->charge(0, capacity - 1));
  EXPECT_FALSE(machine->charge(0, 2));
  EXPECT_TRUE(machine->charge(0, 1));
  EXPECT_FALSE(machine->charge(0, 1));
  EXPECT_FALSE(machine->charge(0, UINT64_MAX)) << "sums must not wrap";
  EXPECT_TRUE(machine->charge(1, capacity)) << "the other GPU is empty";
  machine->refund(0, capacity);
  EXPECT_EQ(machine->used(0), 0U);
  EXPECT_EQ(machine->used(1), capacity);
}

TEST_F(MachineTest, WhoLeavesTakesItsBytesAndTheLastOneTheFile) {
  auto first = join();
  auto second = join();
  EXPECT_NE(first->slot_index(), second->slot_index());
  ASSERT_TRUE(first->charge(0, kMiB));
  ASSERT_TRUE(second->charge(0, 2 * kMiB));
  EXPECT_EQ(second->used(0), 3 * kMiB);
  first.reset();
  EXPECT_EQ(second->used(0), 2 * kMiB);
  EXPECT_TRUE(file_exists());
  second.reset();
  EXPECT_FALSE(file_exists());
}

TEST_F(MachineTest, SharedMemoryCountsOnceAndUntilTheLastHold) {
  auto owner = join();
  auto other = join();
  ASSERT_TRUE(owner->charge(0, kMiB));
  const std::uint64_t id = owner->share(0, kMiB);
  ASSERT_NE(id, 0U);
  ASSERT_TRUE(other->hold_shared(id));
  EXPECT_EQ(owner->used(0), kMiB);
  owner->drop_shared(id);
  EXPECT_EQ(owner->used(0), kMiB) << "the other one holds it";
  other->drop_shared(id);
  EXPECT_EQ(owner->used(0), 0U);
  EXPECT_FALSE(other->hold_shared(id)) << "there is nothing left to hold";
  other->drop_shared(id);
}

TEST_F(MachineTest, ProcessThatHoldsTwiceMustLetGoTwice) {
  const auto machine = join();
  ASSERT_TRUE(machine->charge(0, kMiB));
  const std::uint64_t id = machine->share(0, kMiB);
  ASSERT_TRUE(machine->hold_shared(id));
  machine->drop_shared(id);
  EXPECT_EQ(machine->used(0), kMiB);
  machine->drop_shared(id);
  EXPECT_EQ(machine->used(0), 0U);
}

TEST_F(MachineTest, SharedMemoryOfAProcessThatLeavesGoesWithIt) {
  auto owner = join();
  auto other = join();
  ASSERT_TRUE(owner->charge(0, 2 * kMiB));
  const std::uint64_t kept = owner->share(0, kMiB);
  owner->share(0, kMiB);
  ASSERT_TRUE(other->hold_shared(kept));
  owner.reset();
  EXPECT_EQ(other->used(0), kMiB);
  other.reset();
  EXPECT_EQ(join()->used(0), 0U);
}

// Threads of a process may still let go of memory while it exits, and its slot may by then be
// taken.
TEST_F(MachineTest, WhatIsCountedAfterLeavingReachesNobody) {
  auto witness = join();
  auto leaving = join();
  ASSERT_TRUE(leaving->charge(0, 2 * kMiB));
  const std::uint64_t id = leaving->share(0, kMiB);
  leaving->detach();
  const auto next = join();
  ASSERT_EQ(next->slot_index(), leaving->slot_index());
  ASSERT_TRUE(next->charge(0, 4 * kMiB));
  leaving->refund(0, kMiB);
  leaving->drop_shared(id);
  EXPECT_EQ(leaving->share(0, kMiB), 0U);
  EXPECT_FALSE(leaving->charge(0, kMiB));
  EXPECT_EQ(witness->used(0), 4 * kMiB);
}

TEST_F(MachineTest, KilledProcessIsClearedAtTheNextLook) {
  const auto machine = join();
  const TestChild child([this] {
    auto* own = new std::unique_ptr<Machine>(join());
    (*own)->charge(0, kMiB);
    (*own)->share(0, kMiB / 2);
  });
  ASSERT_TRUE(child.ran());
  EXPECT_EQ(machine->used(0), kMiB);
  child.kill();
  EXPECT_EQ(machine->used(0), 0U);
  const auto next = join();
  EXPECT_EQ(next->slot_index(), 1U) << "its slot is free again";
}

TEST_F(MachineTest, FullHouse) {
  const auto machine = join();
  ProcessSlot& own = machine->own_slot();
  for (ProcessSlot& slot : machine->segment().processes) {
    slot.start_time = own.start_time;
    slot.pid.store(own.pid.load());
  }
  const auto refused = Machine::attach(settings_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("no place for one more process"), std::string::npos);
  machine->segment().processes.back().pid.store(0);
  EXPECT_TRUE(Machine::attach(settings_)) << "there is room again";
  for (ProcessSlot& slot : machine->segment().processes) {
    if (&slot != &own) slot.pid.store(0);
  }
}

TEST_F(MachineTest, FileOfAnotherKindIsStartedAnew) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, sizeof(Segment)}) {
    std::ofstream(path()) << std::string(size, 'x');
    const auto machine = join();
    EXPECT_EQ(machine->gpus(), 2U);
    EXPECT_EQ(machine->used(0), 0U);
  }
}

TEST_F(MachineTest, ViolationsAreCountedAndTheLastOnesKept) {
  const auto machine = join();
  testing::internal::CaptureStderr();
  for (unsigned i = 0; i < kViolationsMax + 1; ++i) {
    machine->record_violation("number " + std::to_string(i));
  }
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(printed.starts_with("cuda_sim: violation: number 0\n")) << printed;
  EXPECT_TRUE(printed.ends_with("cuda_sim: violation: number 64\n")) << printed;
  EXPECT_EQ(machine->segment().violations.load(), kViolationsMax + 1);
  const std::string newest = machine->segment().violation_text[0].data();
  EXPECT_NE(newest.find("number 64"), std::string::npos) << newest;
}

TEST_F(MachineTest, ContextKeysAreUniqueOnTheMachine) {
  const auto machine = join();
  EXPECT_NE(machine->next_context_key(), machine->next_context_key());
}

}  // namespace
}  // namespace nvs::sim
