// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/memory/address_space.h"

#include <array>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kUnit = 4096;

// A machine of its own, whose one GPU is what mappings point to.
class AddressSpaceTest : public testing::Test {
 protected:
  AddressSpaceTest() {
    Settings settings;
    settings.NVSHARE_SIM_MACHINE = "address-space-test-" + std::to_string(::getpid());
    settings.NVSHARE_SIM_PRESET = "t4";
    settings.NVSHARE_SIM_SCALE = 512;
    settings.NVSHARE_SIM_GPUS = 2;
    machine_ = Machine::attach(settings).value();
    arena_ = std::make_unique<Arena>(machine_->capacity());
  }

  Mapping& map(std::uint64_t begin, std::uint64_t size, Access access = Access::read_write) {
    Mapping mapping;
    mapping.begin = begin;
    mapping.size = size;
    mapping.kind = MemoryKind::vmm;
    mapping.physical = Physical::create(*machine_, *arena_, 0, size, Exportable::no);
    mapping.access[0] = access;
    return space_.map(std::move(mapping));
  }

  std::unique_ptr<Machine> machine_;
  std::unique_ptr<Arena> arena_;
  AddressSpace space_;
};

TEST_F(AddressSpaceTest, ReservationsAreAlignedAndDisjoint) {
  const std::uint64_t first = space_.reserve(3 * kUnit, 1 << 20, 0, false);
  const std::uint64_t second = space_.reserve(kUnit, kUnit, 0, false);
  EXPECT_NE(first, 0U);
  EXPECT_EQ(first % (1 << 20), 0U);
  EXPECT_TRUE(second + kUnit <= first || first + 3 * kUnit <= second);
  EXPECT_EQ(space_.reserve(UINT64_MAX - kUnit, kUnit, 0, false), 0U);
}

TEST_F(AddressSpaceTest, HintIsTakenWhereItIsFree) {
  const std::uint64_t first = space_.reserve(4 * kUnit, kUnit, 0, false);
  ASSERT_TRUE(space_.release(first, 4 * kUnit));
  EXPECT_EQ(space_.reserve(4 * kUnit, kUnit, first, false), first);
  const std::uint64_t other = space_.reserve(4 * kUnit, kUnit, first, false);
  EXPECT_NE(other, 0U);
  EXPECT_NE(other, first) << "it is taken, so another place must do";
  EXPECT_EQ(space_.reserve(kUnit, kUnit, other + 7, false) % kUnit, 0U) << "a crooked hint";
}

TEST_F(AddressSpaceTest, ReservationIsReleasedWholeAndOnce) {
  const std::uint64_t begin = space_.reserve(4 * kUnit, kUnit, 0, false);
  EXPECT_FALSE(space_.release(begin, kUnit));
  EXPECT_FALSE(space_.release(begin + kUnit, 3 * kUnit));
  EXPECT_TRUE(space_.release(begin, 4 * kUnit));
  EXPECT_FALSE(space_.release(begin, 4 * kUnit));
}

TEST_F(AddressSpaceTest, ReservationHoldsARangeOrNot) {
  const std::uint64_t begin = space_.reserve(4 * kUnit, kUnit, 0, false);
  EXPECT_NE(space_.reservation(begin, 4 * kUnit), nullptr);
  EXPECT_NE(space_.reservation(begin + 3 * kUnit, kUnit), nullptr);
  EXPECT_EQ(space_.reservation(begin + 3 * kUnit, kUnit + 1), nullptr);
  EXPECT_EQ(space_.reservation(begin + 4 * kUnit, 1), nullptr);
  EXPECT_EQ(space_.reservation(begin - 1, 1), nullptr);
  EXPECT_EQ(space_.reservation(begin + kUnit, UINT64_MAX), nullptr) << "sums must not wrap";
}

TEST_F(AddressSpaceTest, MappingsAreFoundByAnyAddressInside) {
  const std::uint64_t begin = space_.reserve(8 * kUnit, kUnit, 0, false);
  map(begin + 2 * kUnit, 2 * kUnit);
  EXPECT_EQ(space_.find(begin + 2 * kUnit - 1), nullptr);
  ASSERT_NE(space_.find(begin + 2 * kUnit), nullptr);
  EXPECT_EQ(space_.find(begin + 4 * kUnit - 1)->begin, begin + 2 * kUnit);
  EXPECT_EQ(space_.find(begin + 4 * kUnit), nullptr);
  EXPECT_FALSE(space_.any_in(begin, 2 * kUnit));
  EXPECT_TRUE(space_.any_in(begin, 2 * kUnit + 1));
  EXPECT_TRUE(space_.any_in(begin + 3 * kUnit, kUnit));
  EXPECT_FALSE(space_.any_in(begin + 4 * kUnit, 4 * kUnit));
  space_.unmap(begin + 2 * kUnit);
  EXPECT_FALSE(space_.any_in(begin, 8 * kUnit));
}

TEST_F(AddressSpaceTest, EveryMappingHasANumberOfItsOwn) {
  const std::uint64_t begin = space_.reserve(2 * kUnit, kUnit, 0, false);
  const std::uint64_t first = map(begin, kUnit).buffer_id;
  space_.unmap(begin);
  EXPECT_NE(map(begin, kUnit).buffer_id, first);
}

TEST_F(AddressSpaceTest, ViewCrossesChunksInOrder) {
  const std::uint64_t begin = space_.reserve(3 * kUnit, kUnit, 0, false);
  std::array<std::byte*, 3> chunks{};
  for (const std::size_t i : {2, 0, 1}) chunks[i] = map(begin + i * kUnit, kUnit).physical->at(0);
  const auto view = space_.view(begin + 10, 3 * kUnit - 20, 0, Access::read_write);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->size(), 3 * kUnit - 20);
  std::vector<std::pair<std::byte*, std::uint64_t>> pieces;
  view->for_each(0, view->size(),
                 [&](std::byte* host, std::uint64_t bytes) { pieces.emplace_back(host, bytes); });
  const std::vector<std::pair<std::byte*, std::uint64_t>> expected = {
      {chunks[0] + 10, kUnit - 10}, {chunks[1], kUnit}, {chunks[2], kUnit - 10}};
  EXPECT_EQ(pieces, expected);
}

TEST_F(AddressSpaceTest, NoViewOfHolesOrWithoutAccess) {
  const std::uint64_t begin = space_.reserve(4 * kUnit, kUnit, 0, false);
  map(begin, kUnit);
  map(begin + 2 * kUnit, kUnit, Access::read);
  EXPECT_TRUE(space_.view(begin, kUnit, 0, Access::read_write));
  EXPECT_FALSE(space_.view(begin, kUnit + 1, 0, Access::read));
  EXPECT_FALSE(space_.view(begin + kUnit, 1, 0, Access::read));
  EXPECT_TRUE(space_.view(begin + 2 * kUnit, kUnit, 0, Access::read));
  EXPECT_FALSE(space_.view(begin + 2 * kUnit, kUnit, 0, Access::read_write));
  EXPECT_FALSE(space_.view(begin, kUnit, 1, Access::read)) << "the other GPU was given no access";
}

TEST_F(AddressSpaceTest, ViewKeepsMemoryThatIsUnmappedMeanwhile) {
  const std::uint64_t begin = space_.reserve(kUnit, kUnit, 0, false);
  map(begin, kUnit);
  const std::uint64_t used = machine_->used(0);
  auto view = space_.view(begin, kUnit, 0, Access::read_write);
  space_.unmap(begin);
  EXPECT_EQ(machine_->used(0), used);
  view.reset();
  EXPECT_EQ(machine_->used(0), used - kUnit);
}

TEST_F(AddressSpaceTest, HostMemoryIsSeenAsFarAsItIsKnown) {
  std::array<std::byte, 100> host{};
  const auto begin = reinterpret_cast<std::uint64_t>(host.data());
  HostRange range;
  range.begin = begin;
  range.size = host.size();
  space_.add_host(range);
  EXPECT_TRUE(space_.view(begin + 10, 90, 0, Access::read_write));
  EXPECT_FALSE(space_.view(begin + 10, 91, 0, Access::read));
  EXPECT_NE(space_.find_host(begin + 99), nullptr);
  EXPECT_EQ(space_.find_host(begin + 100), nullptr);
  EXPECT_NE(space_.first_host_in(begin - 50, 51), nullptr);
  EXPECT_EQ(space_.first_host_in(begin - 50, 50), nullptr);
  space_.remove_host(begin);
  EXPECT_EQ(space_.find_host(begin), nullptr);
}

}  // namespace
}  // namespace nvs::sim
