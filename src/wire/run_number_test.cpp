// SPDX-License-Identifier: Apache-2.0
#include "wire/run_number.h"

#include <gtest/gtest.h>

namespace nvs::wire {
namespace {

TEST(RunNumber, IsHexadecimalAndMayBeInCapitals) {
  EXPECT_EQ(parse_run("00000000deadbeef"), 0xdeadbeefU);
  EXPECT_EQ(parse_run("00000000DEADBEEF"), 0xdeadbeefU);
  EXPECT_EQ(parse_run("DeadBeef"), 0xdeadbeefU);
  EXPECT_EQ(parse_run("1"), 1U);
  EXPECT_EQ(parse_run("ffffffffffffffff"), ~std::uint64_t{0});
}

TEST(RunNumber, AnythingElseIsNone) {
  EXPECT_EQ(parse_run(nullptr), 0U);
  for (const char* text :
       {"", "0", "0000000000000000", "xyz", "12 ", "-1", "0x1", "g", "G", "0123456789abcdef0"}) {
    EXPECT_EQ(parse_run(text), 0U) << text;
  }
}

}  // namespace
}  // namespace nvs::wire
