// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/top_state.h"

#include <gtest/gtest.h>

#include "cli/ctl/test_node.h"

namespace nvs::cli {
namespace {

Key letter(char c) { return {KeyKind::letter, c}; }

NodeStatus later(NodeStatus node, double seconds) {
  node.uptime_s += seconds;
  return node;
}

std::vector<std::uint64_t> order(const TopState& state) {
  std::vector<std::uint64_t> ids;
  for (const TopRow& row : state.rows()) ids.push_back(row.tenant->id * 10 + row.use->gpu);
  return ids;
}

using Ids = std::vector<std::uint64_t>;

TEST(TopState, KeysOfATerminal) {
  const std::vector<Key> keys = keys_of("q\x1b[A\x1bOB\x1b[6~\x1b[1;5Cp\x1b");
  const std::vector<Key> expected = {letter('q'),          {KeyKind::up}, {KeyKind::down},
                                     {KeyKind::page_down}, letter('p'),   {KeyKind::escape}};
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(keys_of("\x1b[").size(), 0u);
}

TEST(TopState, SharesAreDifferencesBetweenPolls) {
  TopState state;
  state.update(test_node());
  EXPECT_EQ(state.rows()[0].share, 0);
  NodeStatus next = later(test_node(), 2);
  next.tenants[0].uses[0].used_s += 0.5;
  next.tenants[1].uses[0].used_s += 1.5;
  next.gpus[0].held_s += 1.9;
  state.update(next);
  EXPECT_EQ(order(state), (Ids{20, 10, 21}));
  EXPECT_DOUBLE_EQ(state.rows()[0].share, 0.75);
  EXPECT_DOUBLE_EQ(state.rows()[1].share, 0.25);
  EXPECT_NEAR(state.busy_share(0), 0.95, 1e-9);
  EXPECT_EQ(state.busy_share(1), 0);
}

TEST(TopState, APollTooSoonKeepsTheShares) {
  TopState state;
  state.update(test_node());
  NodeStatus next = later(test_node(), 1);
  next.tenants[0].uses[0].used_s += 0.5;
  state.update(next);
  state.update(later(next, 0.01));
  EXPECT_DOUBLE_EQ(state.rows()[0].share, 0.5);
}

TEST(TopState, AnotherDaemonStartsAnew) {
  TopState state;
  state.update(test_node());
  NodeStatus other = later(test_node(), 1);
  other.pid = 900;
  other.tenants[0].uses[0].used_s += 1;
  state.update(other);
  EXPECT_EQ(state.rows()[0].share, 0);
  NodeStatus next = later(other, 1);
  next.tenants[0].uses[0].used_s = 0;  // billed anew
  state.update(next);
  EXPECT_EQ(state.rows()[0].share, 0);
}

TEST(TopState, TheSelectionFollowsItsTenant) {
  TopState state;
  state.update(test_node());
  EXPECT_EQ(order(state), (Ids{10, 20, 21}));
  state.press(letter('j'));
  EXPECT_EQ(state.selected_row(), 1u);
  NodeStatus next = later(test_node(), 1);
  next.tenants[1].uses[1].used_s += 1;
  state.update(next);
  EXPECT_EQ(order(state), (Ids{21, 10, 20}));
  EXPECT_EQ(state.selected_row(), 2u);
  state.press({KeyKind::down});
  EXPECT_EQ(state.selected_row(), 2u);
  state.press({KeyKind::home});
  EXPECT_EQ(state.selected_row(), 0u);
  state.press({KeyKind::end});
  EXPECT_EQ(state.selected_row(), 2u);
  next.tenants.clear();
  state.update(later(next, 1));
  EXPECT_EQ(state.rows().size(), 0u);
  EXPECT_FALSE(state.press(letter('p')));
  EXPECT_FALSE(state.press(letter('+')));
}

TEST(TopState, PauseAndResume) {
  TopState state;
  state.update(test_node());
  EXPECT_EQ(state.press(letter('p')), R"({"command":"pause","tenant":1})");
  NodeStatus next = test_node();
  next.tenants[0].paused = true;
  state.update(next);
  EXPECT_EQ(state.press(letter('p')), R"({"command":"resume","tenant":1})");
}

TEST(TopState, Priorities) {
  TopState state;
  state.update(test_node());
  EXPECT_EQ(state.press(letter('+')), R"({"command":"priority","priority":"high","tenant":1})");
  EXPECT_EQ(state.press(letter('-')), R"({"command":"priority","priority":"low","tenant":1})");
  state.press(letter('j'));
  EXPECT_FALSE(state.press(letter('+')));
  EXPECT_NE(state.message().find("has priority high already"), std::string::npos);
  state.press(letter('k'));
  EXPECT_EQ(state.message(), "");
}

TEST(TopState, SortAndGpus) {
  TopState state;
  state.update(test_node());
  state.press(letter('s'));
  EXPECT_EQ(state.sort(), TopSort::waiting);
  EXPECT_EQ(order(state), (Ids{20, 10, 21}));
  state.press(letter('s'));
  EXPECT_EQ(state.sort(), TopSort::memory);
  state.press(letter('s'));
  EXPECT_EQ(order(state), (Ids{20, 21, 10}));
  state.press(letter('s'));
  state.press(letter('s'));
  EXPECT_EQ(state.sort(), TopSort::share);
  state.press(letter('1'));
  EXPECT_EQ(order(state), Ids{21});
  state.press(letter('7'));
  EXPECT_EQ(state.message(), "there is no GPU 7");
  EXPECT_EQ(order(state), Ids{21});
  state.press(letter('a'));
  EXPECT_EQ(order(state).size(), 3u);
}

TEST(TopState, HelpAndTheEnd) {
  TopState state;
  state.update(test_node());
  state.press(letter('h'));
  EXPECT_TRUE(state.shows_help());
  EXPECT_FALSE(state.press(letter('p')));
  EXPECT_FALSE(state.shows_help());
  EXPECT_FALSE(state.is_done());
  state.press(letter('h'));
  state.press(letter('q'));
  EXPECT_TRUE(state.is_done());
}

}  // namespace
}  // namespace nvs::cli
