// SPDX-License-Identifier: Apache-2.0
#include "daemon/file_budget.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr std::size_t kEach = kFdsPerClient;

TEST(FileBudget, WhereThereAreManyAllHaveWhatTheyWant) {
  const FileBudget budget = divide_files(65536, kEach, 1024);
  EXPECT_EQ(budget.clients, kClientsMax);
  EXPECT_EQ(budget.shared_files, kSharedFilesMax);
  EXPECT_EQ(budget.host_segments, 1024U);
}

TEST(FileBudget, HostMemoryLeavesRoomForTheFirstClients) {
  const FileBudget budget = divide_files(1024, kEach, 1024);
  EXPECT_EQ(budget.clients, kClientsBeforeHost);
  EXPECT_EQ(budget.host_segments, (1024 - 128 - kFdsReserved - 64 * kEach) / kFdsPerHostSegment);
  const FileBudget modest = divide_files(1024, kEach, 10);
  EXPECT_EQ(modest.host_segments, 10U);
  EXPECT_EQ(modest.clients, (1024 - 128 - kFdsReserved - 20) / kEach);
}

TEST(FileBudget, NeverMoreThanThereAre) {
  for (std::uint64_t files = 0; files < 20'000; ++files) {
    for (const std::uint64_t wanted : {0U, 1U, 40U, 1024U, 1'000'000U}) {
      const FileBudget budget = divide_files(files, kEach, wanted);
      const std::uint64_t used =
          budget.clients * kEach + budget.shared_files + budget.host_segments * kFdsPerHostSegment;
      ASSERT_LE(used, files);
      if (budget.clients > 0) {
        ASSERT_LE(used + kFdsReserved, files);
      }
      ASSERT_LE(budget.host_segments, wanted);
      if (budget.clients < kClientsBeforeHost) {
        ASSERT_EQ(budget.host_segments, 0U) << files;
      }
    }
  }
}

}  // namespace
}  // namespace nvs::daemon
