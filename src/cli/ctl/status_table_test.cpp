// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/status_table.h"

#include <gtest/gtest.h>

#include "cli/ctl/test_node.h"

namespace nvs::cli {
namespace {

constexpr const char* kIn80Columns = R"(nvshare 0.1.0, pid 812, up 2h13m, /var/run/nvshare
host memory: 12GiB of 64GiB lent, 1.5GiB ready, 4 requests refused

GPU  NAME  MEMORY  MODE    WINDOW   TURN  HOLDER    WAITING  SWITCHES  DRAIN
  0  H200  140GiB  auto      20ms   auto  train.py        1    104233   0.6%
  1  H200  140GiB  serial    20ms  30.0s  -               0         0      -

ID  TENANT               GPU  STATE    PRIORITY    USED  WAITED  LONGEST  MEMORY
 1  train.py               0  running  normal     1h06m   2m01s     42ms   12GiB
 2  research/llama-se..    0  waiting  high      50m00s    3.2s     20ms   20GiB
 2  research/llama-se..    1  idle     high        1.5s       0        0       -
 3  a?[31m??               -  paused   low            -       -        -       -

GPU  CAPACITY  VISIBLE   OTHER  SWAP-IDLE
  0    138GiB   137GiB  2.0GiB      61.5s

ID  TENANT    GPU  ALLOCATED  RESIDENT   CLEAN  SWAPPED   FIXED  MANAGED    HOST
 1  train.py    0      12GiB    7.0GiB  2.0GiB   4.0GiB  1.0GiB   3.0GiB  5.0GiB

ID  TENANT                                GPU  UNEVICTABLE   FIXED  DRIVER
 1  train.py                                0       1.5GiB  1.0GiB  512MiB
 2  research/llama-serve-7c9d8f5b6-x2x4q    0            -       -       -

ID  TENANT    GPU  SWAP-WAIT  COPIED-OUT  COPIED-IN
 1  train.py    0      84.2s       40GiB      76GiB
)";

TEST(StatusTable, FitsInto80Columns) { EXPECT_EQ(status_table(test_node(), 80), kIn80Columns); }

TEST(StatusTable, AGpuThatDoesNotAnswerIsNamedBelowTheTable) {
  NodeStatus node = test_node();
  node.gpus[1].nvml_error = "GPU is lost\x1b";
  EXPECT_NE(status_table(node, 80).find("-\nGPU 1 does not answer: GPU is lost?\n\nID"),
            std::string::npos)
      << status_table(node, 80);
}

TEST(StatusTable, LimitsHaveATableOfTheirOwn) {
  const std::string in_80 = status_table(limited_node(), 80);
  EXPECT_NE(in_80.find(R"(
ID  TENANT                      GPU    USE  LIMIT      CAP   10S  60S  THROTTLED
 1  train.py                      0  12GiB  16GiB       60  59.8   60      75.0s
 2  research/llama-serve-7c9..    0  20GiB      -  50>33.3  33.3    -          0
 2  research/llama-serve-7c9..    1      -      -        -     -    -          -

3 a?[31m??: the memory limit '?' of the environment is not understood

GPU  CAPACITY)"),
            std::string::npos)
      << in_80;
}

TEST(StatusTable, WhatCannotBeMovedIsShownWhereItIsKnown) {
  NodeStatus node = test_node();
  node.tenants[0].uses[0].driver_bytes = {};
  EXPECT_EQ(status_table(node, 80).find("UNEVICTABLE"), std::string::npos) << "of nobody";
  node.tenants[1].uses[1].driver_bytes = 0;  // it has nothing else there
  const std::string text = status_table(node, 80);
  EXPECT_NE(text.find(R"(
ID  TENANT                                GPU  UNEVICTABLE   FIXED  DRIVER
 1  train.py                                0            -  1.0GiB       -
 2  research/llama-serve-7c9d8f5b6-x2x4q    0            -       -       -
 2  research/llama-serve-7c9d8f5b6-x2x4q    1            0       -       0
)"),
            std::string::npos)
      << text;
}

TEST(StatusTable, SwapsAreShownOfThoseThatHadSome) {
  NodeStatus node = test_node();
  node.gpus[0].swap_idle_s = 0;
  node.tenants[0].uses[0].memory_wait_s = 0;
  node.tenants[1].uses[0].memory_wait_s = 0.0009;  // asked for room, and had it
  node.tenants[1].uses[1].memory_wait_s = 0.001;   // others had to go first
  const std::string text = status_table(node, 80);
  EXPECT_NE(text.find("  OTHER  SWAP-IDLE\n  0    138GiB   137GiB  2.0GiB          0\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with(R"(
ID  TENANT                                GPU  SWAP-WAIT  COPIED-OUT  COPIED-IN
 1  train.py                                0          0       40GiB      76GiB
 2  research/llama-serve-7c9d8f5b6-x2x4q    1      1.0ms           -          -
)")) << text;
  node.tenants[0].uses[0].copied_out_bytes = 0;
  node.tenants[0].uses[0].copied_in_bytes = 1;
  EXPECT_NE(status_table(node, 0).find("          0           -         1B\n"), std::string::npos);
  node.tenants[0].uses[0].copied_in_bytes = 0;
  node.tenants[1].uses[1].memory_wait_s = 0.0009;
  EXPECT_EQ(status_table(node, 80).find("SWAP-WAIT"), std::string::npos);
}

TEST(StatusTable, WithoutALimitNothingIsCut) {
  const std::string text = status_table(test_node(), 0);
  EXPECT_NE(text.find("research/llama-serve-7c9d8f5b6-x2x4q"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(StatusTable, AnEmptyNode) {
  NodeStatus node;
  node.version = "0.1.0";
  node.folder = "/f";
  node.pid = 7;
  EXPECT_EQ(status_table(node, 80),
            "nvshare 0.1.0, pid 7, up 0, /f\n\nNo GPU so far.\n\n"
            "No tenant. Start one: nvshare run -- COMMAND\n");
}

TEST(StatusTable, HostMemoryIsOneLine) {
  const auto line_of = [](HostMemoryStatus memory) {
    NodeStatus node;
    node.host_memory = memory;
    const std::string text = status_table(node, 80);
    const std::size_t start = text.find('\n') + 1;
    return text.substr(start, text.find('\n', start) - start);
  };
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;
  EXPECT_EQ(line_of({}), "host memory: none is lent");
  EXPECT_EQ(line_of({8 * kGib, 0, 0, 0}), "host memory: 0 of 8.0GiB lent, 0 ready");
}

TEST(StatusTable, AHolderThatIsNotListedIsShownByItsNumber) {
  NodeStatus node = test_node();
  node.gpus[0].holder = 77;
  EXPECT_EQ(holder_text(node, node.gpus[0]), "77");
  EXPECT_EQ(holder_text(node, node.gpus[1]), "-");
}

}  // namespace
}  // namespace nvs::cli
