// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/top_view.h"

#include <gtest/gtest.h>

#include "cli/ctl/test_node.h"
#include "cli/ctl/text_table.h"

namespace nvs::cli {
namespace {

TopState state_with_shares() {
  TopState state;
  state.update(test_node());
  NodeStatus next = test_node();
  next.uptime_s += 1;
  next.tenants[0].uses[0].used_s += 0.25;
  next.tenants[1].uses[0].used_s += 0.74;
  next.gpus[0].held_s += 0.99;
  state.update(next);
  return state;
}

std::string text_of(const std::vector<ViewLine>& lines) {
  std::string text;
  for (const ViewLine& line : lines) text += line.text + "\n";
  return text;
}

constexpr const char* kTopIn80Columns = R"(nvshare 0.1.0, pid 812, up 2h13m, /var/run/nvshare
sorted by share; h: help, q: quit
GPU  NAME  MODE    WINDOW  HOLDER    WAITING  HELD
  0  H200  auto      20ms  train.py        1  [||||||||]  99%
  1  H200  serial    20ms  -               0  [        ]   0%

ID  TENANT    GPU  STATE    PRIO    SHARE             NOW  LONGEST        MEMORY
 2  resear..    0  waiting  high    [||||||  ]  74%  12ms     20ms         20GiB
 1  train.py    0  running  normal  [||      ]  25%     -     42ms  8.0GiB/12GiB
 2  resear..    1  idle     high    [        ]   0%     -        0             0
)";

TEST(TopView, FitsInto80Columns) {
  const std::vector<ViewLine> lines = top_view(state_with_shares(), {24, 80});
  EXPECT_EQ(text_of(lines), kTopIn80Columns);
}

TEST(TopView, LimitsTakeThePlaceOfWaits) {
  TopState state;
  state.update(limited_node());
  state.press({KeyKind::letter, 'l'});
  const std::string text = text_of(top_view(state, {24, 80}));
  EXPECT_NE(text.find(R"(
ID  TENANT             GPU  STATE        CAP   10S  60S  THROTTLED    USE  LIMIT
 1  train.py             0  running       60  59.8   60      75.0s  12GiB  16GiB
 2  research/llama-..    0  waiting  50>33.3  33.3    -          0  20GiB      -
)"),
            std::string::npos)
      << text;
  state.press({KeyKind::letter, 'l'});
  EXPECT_NE(text_of(top_view(state, {24, 80})).find("LONGEST"), std::string::npos);
}

TEST(TopView, OneLineIsSelected) {
  std::vector<std::string> selected;
  for (const ViewLine& line : top_view(state_with_shares(), {24, 80})) {
    if (line.style == LineStyle::selected) selected.push_back(line.text);
  }
  ASSERT_EQ(selected.size(), 1u);
  EXPECT_NE(selected[0].find("train.py"), std::string::npos);
}

TEST(TopView, FitsEveryScreen) {
  TopState state;
  NodeStatus node = test_node();
  for (std::uint64_t i = 10; i < 60; ++i) {
    TenantStatus tenant = node.tenants[0];
    tenant.id = i;
    tenant.name = "tenant-" + std::to_string(i);
    node.tenants.push_back(tenant);
  }
  for (std::uint64_t i = 2; i < 16; ++i) {
    GpuStatus gpu = node.gpus[0];
    gpu.index = i;
    node.gpus.push_back(gpu);
  }
  state.update(node);
  state.press({KeyKind::end});
  for (const bool help : {false, true}) {
    if (help) state.press({KeyKind::letter, 'h'});
    for (std::size_t rows = 1; rows < 40; ++rows) {
      for (const std::size_t columns : {1, 2, 10, 40, 79, 80, 200}) {
        const std::vector<ViewLine> lines = top_view(state, {rows, columns});
        EXPECT_LE(lines.size(), rows);
        bool selected = help || rows < 6;
        for (const ViewLine& line : lines) {
          EXPECT_LE(columns_of(line.text), columns);
          selected = selected || line.style == LineStyle::selected;
        }
        EXPECT_TRUE(selected) << rows << " x " << columns;
      }
    }
  }
}

TEST(TopView, AMessageTakesThePlaceOfTheHint) {
  TopState state = state_with_shares();
  state.say("no daemon");
  const std::vector<ViewLine> lines = top_view(state, {24, 80});
  EXPECT_EQ(lines[1], (ViewLine{"no daemon", LineStyle::message}));
}

TEST(TopView, Bars) {
  EXPECT_EQ(bar(0, 6), "[    ]");
  EXPECT_EQ(bar(0.5, 6), "[||  ]");
  EXPECT_EQ(bar(1, 6), "[||||]");
  EXPECT_EQ(bar(7, 6), "[||||]");
}

}  // namespace
}  // namespace nvs::cli
