// SPDX-License-Identifier: Apache-2.0
#include "bench/daemon_process.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "bench/cases/pair_part.h"
#include "bench/failure.h"
#include "bench/python_program.h"

namespace nvs::bench {
namespace {

TEST(CpuTicks, AreUserAndSystemTime) {
  EXPECT_EQ(cpu_ticks("7 (nvshare) S 1 7 7 0 -1 4 100 0 0 0 31 11 5 6 20 0 1 0 99 0"), 42u);
}

TEST(CpuTicks, OfANameWithSpacesAndParentheses) {
  EXPECT_EQ(cpu_ticks("7 (a) S 1 (b) R 1 7 7 0 -1 4 100 0 0 0 2 3 5 6"), 5u);
}

TEST(CpuTicks, OfSomethingElseAreAFailure) {
  EXPECT_THROW(cpu_ticks(""), Failure);
  EXPECT_THROW(cpu_ticks("7 (nvshare) S 1 7"), Failure);
}

TEST(TemporaryFolder, IsGoneWithWhatIsInIt) {
  std::string path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    std::filesystem::create_directories(path + "/tenant");
    EXPECT_TRUE(std::filesystem::exists(path));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(RatePrinted, IsWhatStandsBeforeItsUnit) {
  EXPECT_DOUBLE_EQ(rate_printed("a warning of 3 lines\n mm 599.7 it/s (4.0s)\n"), 599.7);
}

TEST(RatePrinted, IsAFailureWhereThereIsNone) {
  EXPECT_THROW(rate_printed(""), Failure);
  EXPECT_THROW(rate_printed(" it/s"), Failure);
  EXPECT_THROW(rate_printed("mm many it/s"), Failure);
}

TEST(Shares, AreJudgedByTheOneFarthestFromEqual) {
  EXPECT_DOUBLE_EQ(pair_case::farthest_from_equal({5, 5, 5, 5}), 0);
  EXPECT_DOUBLE_EQ(pair_case::farthest_from_equal({100, 110, 90, 60}), 100.0 / 3);
}

TEST(Shares, RoundsThatMakeUpForEachOtherShowInTheWorst) {
  pair_case::Shares shares;
  shares.add_round({5, 3});
  shares.add_round({3, 5});
  EXPECT_DOUBLE_EQ(shares.farthest_in_all(), 0);
  EXPECT_DOUBLE_EQ(shares.farthest_in_one_round(), 25);
}

}  // namespace
}  // namespace nvs::bench
