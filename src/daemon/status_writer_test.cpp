// SPDX-License-Identifier: Apache-2.0
#include "daemon/status_writer.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace nvs::daemon {
namespace {

TEST(JsonWriter, WritesCommasWhereTheyBelong) {
  JsonWriter json;
  json.begin_object().key("a").number(1).key("b").begin_array();
  json.number(-2).text("x").null().boolean(true).begin_object().end_object().end_array();
  json.key("c").begin_array().end_array().key("d").raw("[1]").key("e").number(0.5).end_object();
  EXPECT_EQ(json.take(), R"({"a":1,"b":[-2,"x",null,true,{}],"c":[],"d":[1],"e":0.5})");
}

TEST(JsonWriter, NumbersAreExact) {
  JsonWriter json;
  json.begin_array().number(std::numeric_limits<std::uint64_t>::max());
  json.number(std::numeric_limits<std::int64_t>::min()).number(0.1).number(1e-9).number(20.0);
  json.number(NAN).number(std::numeric_limits<double>::infinity()).end_array();
  EXPECT_EQ(json.take(), "[18446744073709551615,-9223372036854775808,0.1,1e-09,20,null,null]");
}

TEST(JsonWriter, AnyBytesMakeValidText) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  for (const std::string& bytes :
       {all, std::string("a\"b\\c\n"), std::string("größe 中 😀"), std::string("\xed\xa0\x80"),
        std::string("\u2028\u202e\u0085")}) {
    JsonWriter json;
    json.begin_object().key(bytes).text(bytes).end_object();
    const std::string text = json.take();
    const nlohmann::json parsed = nlohmann::json::parse(text, nullptr, false);
    ASSERT_TRUE(parsed.is_object()) << text;
    EXPECT_EQ(parsed.begin().key(), parsed.begin().value());
    for (const char character : text) EXPECT_FALSE(character >= 0 && character < ' ');
  }
  JsonWriter json;
  EXPECT_EQ(json.text("a\"\\\n\u202e\xff größe").take(), "\"a\\\"\\\\\\u000a\\u202e\ufffd größe\"");
}

}  // namespace
}  // namespace nvs::daemon
