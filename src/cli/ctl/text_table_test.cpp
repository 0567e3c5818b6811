// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/text_table.h"

#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(TextTable, ColumnsAreAsWideAsTheirWidest) {
  TextTable table({{"N", Align::right}, {"NAME"}, {"LAST"}});
  table.add({"1", "a", "x"});
  table.add({"100", "lang", ""});
  EXPECT_EQ(table.lines(0), (Lines{"  N  NAME  LAST", "  1  a     x", "100  lang"}));
}

TEST(TextTable, OnlyTheColumnsThatMayGiveWay) {
  TextTable table({{"A", Align::left, 4}, {"B"}});
  table.add({"0123456789", "0123456789"});
  EXPECT_EQ(table.lines(20), (Lines{"A         B", "012345..  0123456789"}));
  EXPECT_EQ(table.lines(1), (Lines{"A     B", "01..  0123456789"}));
  EXPECT_EQ(table.lines(0).back(), "0123456789  0123456789");
}

TEST(TextTable, LettersCountNotBytes) {
  EXPECT_EQ(columns_of("grün"), 4u);
  EXPECT_EQ(shortened("grüner", 6), "grüner");
  EXPECT_EQ(shortened("grüner", 5), "grü..");
  EXPECT_EQ(shortened("abc", 2), "..");
  EXPECT_EQ(shortened("abc", 1), ".");
  EXPECT_EQ(shortened("abc", 0), "");
  EXPECT_EQ(padded_left("ü", 3), "  ü");
  EXPECT_EQ(padded_right("ü", 3), "ü  ");
}

TEST(TextTable, WhatATerminalWouldObeyIsMadeHarmless) {
  EXPECT_EQ(harmless("a\x1b[31mb\n\t\x7f"), "a?[31mb???");
  EXPECT_EQ(harmless("\xc2\x9b"), "?");   // the one-letter form of ESC [
  EXPECT_EQ(harmless("\xff\xc3"), "??");  // broken
  EXPECT_EQ(harmless("\xc0\xaf"), "??");  // a slash in disguise
  EXPECT_EQ(harmless("ü€😀"), "ü€😀");
}

}  // namespace
}  // namespace nvs::cli
