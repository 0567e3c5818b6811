// SPDX-License-Identifier: Apache-2.0
#include "daemon/driver_memory.h"

#include <gtest/gtest.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

constexpr core::TenantId kOne{1};
constexpr core::TenantId kTwo{2};
constexpr core::GpuId kDriverGpu{0};
using Uses = std::map<core::TenantId, TenantUse>;

TEST(UsesOf, ATenantHasWhatItsProcessesHave) {
  const Uses uses = uses_of({{30, kTwo, 7}, {10, kOne, 100}, {20, kOne, 50}},
                            {{5, 1000}, {10, 160}, {20, 80}, {30, 9}, {40, 1000}});
  EXPECT_EQ(uses, (Uses{{kOne, {240, 150}}, {kTwo, {9, 7}}}));
}

TEST(UsesOf, WhoHasNoContextIsNotMissed) {
  EXPECT_EQ(uses_of({{10, kOne, 100}, {11, kOne, 0}}, {{10, 160}}), (Uses{{kOne, {160, 100}}}));
}

TEST(UsesOf, WhereNvmlDoesNotTellNothingIsKnown) {
  EXPECT_EQ(uses_of({{10, kOne, 100}}, {}), Uses{});
  EXPECT_EQ(uses_of({{10, kOne, 0}}, {}), Uses{}) << "its pid may be one that we do not see";
  EXPECT_EQ(uses_of({{10, kOne, 0}}, {{10, {}}}), Uses{}) << "listed without a figure";
  const std::vector<ProcessMemory> listed = {{10, 160}, {30, 9}};
  EXPECT_EQ(uses_of({{10, kOne, 100}, {11, kOne, 1}, {30, kTwo, 7}}, listed),
            (Uses{{kTwo, {9, 7}}}))
      << "one process of the first is not listed, and has memory";
  EXPECT_EQ(uses_of({{10, kOne, {}}, {30, kTwo, 7}}, listed), (Uses{{kTwo, {9, 7}}}))
      << "only the driver knows where it is";
}

TEST(UsesOf, AProcessCountsOnce) {
  EXPECT_EQ(uses_of({{10, kOne, 0}, {10, kOne, 100}}, {{10, 160}}), (Uses{{kOne, {160, 100}}}));
}

class DriverMemoryTest : public ::testing::Test {
 protected:
  void poll(const Uses& uses, int times) {
    for (int i = 0; i < times; ++i) memory_.poll(kDriverGpu, uses);
  }
  std::optional<std::uint64_t> bytes(core::TenantId tenant = kOne) const {
    return memory_.bytes(tenant, kDriverGpu);
  }

  DriverMemory memory_;
};

TEST_F(DriverMemoryTest, IsWhatNobodyClaims) {
  poll({{kOne, {160, 100}}, {kTwo, {9, 9}}}, kStillPollsForMore);
  EXPECT_FALSE(bytes()) << "it may have told late what it took";
  poll({{kOne, {160, 100}}, {kTwo, {9, 9}}}, 1);
  EXPECT_EQ(bytes(), 60U);
  EXPECT_EQ(bytes(kTwo), 0U);
  EXPECT_FALSE(memory_.bytes(kOne, core::GpuId{1}));
  EXPECT_FALSE(bytes(core::TenantId{3}));
}

TEST_F(DriverMemoryTest, IsNeverLessThanNothing) {
  poll({{kOne, {100, 160}}}, kStillPollsForMore + 1);
  EXPECT_EQ(bytes(), 0U);
}

TEST_F(DriverMemoryTest, WhatMovesIsNotTakenForTheDrivers) {
  poll({{kOne, {160, 100}}}, kStillPollsForMore + 1);
  for (int i = 0; i < 2 * kStillPollsForMore; ++i) {
    poll({{kOne, {160, 40}}}, 1);  // it says that it left, and NVML was asked before
    EXPECT_EQ(bytes(), 60U);
    poll({{kOne, {100, 40}}}, 1);
    EXPECT_EQ(bytes(), 60U);
    poll({{kOne, {100, 100}}}, 1);  // the other way round, it is back
    EXPECT_EQ(bytes(), 60U);
  }
}

TEST_F(DriverMemoryTest, LessIsBelievedSoonerThanMore) {
  poll({{kOne, {160, 100}}}, kStillPollsForMore + 1);
  poll({{kOne, {180, 100}}}, kStillPollsForMore);
  EXPECT_EQ(bytes(), 60U);
  poll({{kOne, {180, 100}}}, 1);
  EXPECT_EQ(bytes(), 80U);
  poll({{kOne, {110, 100}}}, kStillPollsForLess);
  EXPECT_EQ(bytes(), 80U);
  poll({{kOne, {110, 100}}}, 1);
  EXPECT_EQ(bytes(), 10U);
}

TEST_F(DriverMemoryTest, WhatIsNotToldAnyMoreIsNotKnown) {
  poll({{kOne, {160, 100}}, {kTwo, {9, 7}}}, kStillPollsForMore + 1);
  poll({{kTwo, {9, 7}}}, 1);
  EXPECT_FALSE(bytes());
  EXPECT_EQ(bytes(kTwo), 2U);
  poll({{kOne, {160, 100}}}, 1);
  EXPECT_FALSE(bytes()) << "it begins anew";
}

}  // namespace
}  // namespace nvs::daemon
