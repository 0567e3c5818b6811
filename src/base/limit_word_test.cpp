// SPDX-License-Identifier: Apache-2.0
#include "base/limit_word.h"

#include <gtest/gtest.h>

namespace nvs {
namespace {

TEST(LimitWord, WordsAsTextsAndBack) {
  for (const char* text : {"none", "default", "4Gi", "25%"}) {
    EXPECT_EQ(word_text(parse_memory_word(text).value()), text);
  }
  for (const char* text : {"none", "default", "1", "100"}) {
    EXPECT_EQ(word_text(parse_cores_word(text).value()), text);
  }
  EXPECT_EQ(parse_cores_word("40%"), CoresWord::of(40));
  for (const char* text : {"", "None", "0", "unlimited", "4 Gi"}) {
    EXPECT_EQ(parse_memory_word(text), std::nullopt) << text;
    EXPECT_EQ(parse_cores_word(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace nvs
