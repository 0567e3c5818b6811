// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/text.h"

#include <string>

#include <gtest/gtest.h>

namespace nvs::interposer::debug {
namespace {

std::string string_of(const TextBuffer& text) { return {text.data(), text.size()}; }

TEST(TextTest, StartsEmpty) {
  Text<8> text;
  EXPECT_EQ(text.size(), 0U);
  EXPECT_STREQ(text.c_str(), "");
  EXPECT_FALSE(text.truncated());
}

TEST(TextTest, JoinsTextsAndNumbers) {
  Text<128> text;
  text.append("a").append('b').append("").number(0).append(' ').number(1234567890123U);
  text.append(' ').hex(0).append(' ').hex(0xdeadbeefU).append(' ').signed_number(-2);
  EXPECT_EQ(string_of(text), "ab0 1234567890123 0x0 0xdeadbeef -2");
}

TEST(TextTest, WritesTheLargestNumbers) {
  Text<128> text;
  text.number(~std::uint64_t{0}).append(' ').hex(~std::uint64_t{0}).append(' ');
  text.signed_number(INT64_MIN).append(' ').signed_number(INT64_MAX);
  EXPECT_EQ(string_of(text),
            "18446744073709551615 0xffffffffffffffff -9223372036854775808 9223372036854775807");
}

TEST(TextTest, AlignsNumbersToTheRight) {
  Text<64> text;
  text.number(7, 3).append('|').number(1234, 3).append('|').number(0, 2);
  EXPECT_EQ(string_of(text), "  7|1234| 0");
}

TEST(TextTest, ColumnsCountFromTheStartOfTheLine) {
  Text<64> text;
  text.append("ab\n").append("c").column(4).append("d").column(4).append("e");
  EXPECT_EQ(string_of(text), "ab\nc   d e");
}

TEST(TextTest, LeavesOutWhatDoesNotFit) {
  Text<4> text;
  text.append("ab").number(123).append("x");
  EXPECT_EQ(string_of(text), "ab12");
  EXPECT_TRUE(text.truncated());
  EXPECT_STREQ(text.c_str(), "ab12");
  text.column(100);
  EXPECT_EQ(text.size(), 4U);
  text.clear();
  text.append("abcd");
  EXPECT_EQ(string_of(text), "abcd");
  EXPECT_FALSE(text.truncated());
}

TEST(TextTest, ShowsTextFromOutsideSafely) {
  Text<64> text;
  text.printable("a\nb\x1b\xff~ ", 100).append('|').printable("abcdef", 3);
  EXPECT_EQ(string_of(text), "a?b??~ |abc");
}

}  // namespace
}  // namespace nvs::interposer::debug
