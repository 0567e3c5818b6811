// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/fault_injection.h"

#include <csignal>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

constexpr int kNone = -1;

std::vector<int> results(FaultInjection& faults, const char* function, int calls) {
  std::vector<int> seen;
  for (int i = 0; i < calls; ++i) seen.push_back(faults.next_result(function).value_or(kNone));
  return seen;
}

TEST(FaultInjection, EmptyTextAsksForNothing) {
  FaultInjection faults;
  EXPECT_TRUE(faults.parse(""));
  EXPECT_FALSE(faults.any_calls());
  EXPECT_EQ(faults.next_result("cuInit"), std::nullopt);
}

TEST(FaultInjection, FailsAfterGoodCallsSoManyTimes) {
  FaultInjection faults;
  ASSERT_TRUE(faults.parse("cuMemAlloc_v2:2:3:700"));
  EXPECT_EQ(results(faults, "cuMemAlloc_v2", 7),
            (std::vector<int>{kNone, kNone, 700, 700, 700, kNone, kNone}));
  EXPECT_FALSE(faults.any_calls()) << "it is over";
}

TEST(FaultInjection, CallsAreCountedApart) {
  FaultInjection faults;
  ASSERT_TRUE(faults.parse("cuMemAlloc_v2:0:1:2,cuMemFree_v2:1:1:999"));
  EXPECT_EQ(results(faults, "cuMemFree_v2", 3), (std::vector<int>{kNone, 999, kNone}));
  EXPECT_EQ(results(faults, "cuMemAlloc_v2", 2), (std::vector<int>{2, kNone}));
}

TEST(FaultInjection, CallsOfOneThread) {
  FaultInjection faults;
  ASSERT_TRUE(faults.parse("cuMemCreate@mover:1:1:2,cuMemCreate:3:1:999"));
  EXPECT_EQ(faults.next_result("cuMemCreate", "mover"), std::nullopt);
  EXPECT_EQ(results(faults, "cuMemCreate", 3), (std::vector<int>{kNone, kNone, kNone}));
  EXPECT_EQ(faults.next_result("cuMemCreate", "mover"), 2);
  EXPECT_EQ(faults.next_result("cuMemCreate", "other"), 999);
}

TEST(FaultInjection, Signals) {
  FaultInjection faults;
  ASSERT_TRUE(faults.parse("cuMemMap:0:1:kill,cuMemUnmap:0:1:stop"));
  EXPECT_EQ(faults.next_result("cuMemMap"), -SIGKILL);
  EXPECT_EQ(faults.next_result("cuMemUnmap"), -SIGSTOP);
}

TEST(FaultInjection, LastWordOnAFunctionCounts) {
  FaultInjection faults;
  faults.fail_call("cuMemAlloc_v2", 5, 5, 1);
  faults.fail_call("cuMemAlloc_v2", 0, 1, 2);
  EXPECT_EQ(results(faults, "cuMemAlloc_v2", 2), (std::vector<int>{2, kNone}));
}

TEST(FaultInjection, TextThatCannotBeUnderstood) {
  for (const char* text : {"cuInit",
                           "cuInit:",
                           "cuInit:0:1",
                           "cuInit:0:1:2:3",
                           ":0:1:2",
                           "cuInit:x:1:2",
                           "cuInit:0:y:2",
                           "cuInit:0:1:z",
                           "cuInit:-1:1:2",
                           "cuInit: 0:1:2",
                           "cuInit:0:1:2,",
                           ",cuInit:0:1:2",
                           "cuInit:0:1:2;cuInit:0:1:2",
                           "cuInit:0:99999999999:2",
                           "cuInit:0:0:2",
                           "cuNoSuchCall:0:1:2",
                           "cuInit:0:1:2,cuNoSuchCall:0:1:2",
                           "cuInit@:0:1:2",
                           "cuNoSuchCall@x:0:1:2",
                           "cuInit:0:1:-9",
                           "cuInit:0:1:term"}) {
    FaultInjection faults;
    EXPECT_FALSE(faults.parse(text)) << text;
  }
}

TEST(FaultInjection, KernelIsTakenOnceAndByItsName) {
  FaultInjection faults;
  faults.hang_kernel = "nvs_fill";
  EXPECT_FALSE(faults.take(faults.hang_kernel, "nvs_step"));
  EXPECT_FALSE(faults.take(faults.fault_kernel, "nvs_fill"));
  EXPECT_TRUE(faults.take(faults.hang_kernel, "nvs_fill"));
  EXPECT_FALSE(faults.take(faults.hang_kernel, "nvs_fill"));
  faults.hang_kernel = "*";
  EXPECT_TRUE(faults.take(faults.hang_kernel, "anything"));
  EXPECT_FALSE(faults.take(faults.hang_kernel, "anything"));
}

}  // namespace
}  // namespace nvs::sim
