// SPDX-License-Identifier: Apache-2.0
#include "base/log_text.h"

#include <string>

#include <gtest/gtest.h>

namespace nvs {
namespace {

TEST(FirstCharacter, TakesUtf8OfEachLength) {
  struct Case {
    std::string bytes;
    std::uint32_t point;
  };
  for (const Case& good :
       {Case{"a", 'a'}, Case{"\x7f", 0x7f}, Case{"\u0080", 0x80}, Case{"\u07ff", 0x7ff},
        Case{"\u0800", 0x800}, Case{"\ucfff", 0xcfff}, Case{"\ue000", 0xe000},
        Case{"\uffff", 0xffff}, Case{"\U00010000", 0x10000}, Case{"\U0010ffff", 0x10ffff}}) {
    const std::string text = good.bytes + "rest";
    const Character first = first_character(text);
    EXPECT_EQ(first.bytes, good.bytes);
    EXPECT_EQ(first.point, good.point);
  }
}

TEST(FirstCharacter, TakesOneByteOfWhatIsNotUtf8) {
  for (const char* bytes :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x80\x80", "\xe0\x9f\xbf",
        "\xe2\x82", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xf0\x9f\x98"}) {
    const Character first = first_character(bytes);
    EXPECT_EQ(first.bytes, std::string(bytes).substr(0, 1));
    EXPECT_FALSE(first.point) << bytes;
  }
}

TEST(IsControl, MeansWhateverMovesOrTurnsText) {
  for (const std::uint32_t point :
       {0x00U, 0x0aU, 0x1bU, 0x7fU, 0x85U, 0x9bU, 0x200eU, 0x2028U, 0x202eU, 0x2066U, 0xfeffU})
    EXPECT_TRUE(is_control(point)) << point;
  for (const std::uint32_t point : {0x20U, 0x7eU, 0xa0U, 0xe9U, 0x2010U, 0x4e2dU, 0x1f600U})
    EXPECT_FALSE(is_control(point)) << point;
}

}  // namespace
}  // namespace nvs
