// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/units.h"

#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

TEST(Units, TimesAreReadWithTheirUnit) {
  EXPECT_DOUBLE_EQ(parse_seconds("20ms").value(), 0.02);
  EXPECT_DOUBLE_EQ(parse_seconds("20 ms").value(), 0.02);
  EXPECT_DOUBLE_EQ(parse_seconds("0.5s").value(), 0.5);
  EXPECT_DOUBLE_EQ(parse_seconds("30s").value(), 30);
  EXPECT_DOUBLE_EQ(parse_seconds("1500us").value(), 0.0015);
  EXPECT_DOUBLE_EQ(parse_seconds("2m").value(), 120);
  EXPECT_DOUBLE_EQ(parse_seconds("2min").value(), 120);
  EXPECT_DOUBLE_EQ(parse_seconds("1h").value(), 3600);
  EXPECT_DOUBLE_EQ(parse_seconds("0s").value(), 0);
}

TEST(Units, WhatIsNoTimeIsNothing) {
  for (const char* text : {"", "20", "ms", "-1s", "1e3s", "nans", "infs", "1s2", "1,5s", " 1s",
                           "1  s", "0x1s", "1S", "99999999h"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
}

TEST(Units, TimesAreShownShort) {
  EXPECT_EQ(seconds_text(0), "0");
  EXPECT_EQ(seconds_text(-1), "0");
  EXPECT_EQ(seconds_text(350e-6), "350us");
  EXPECT_EQ(seconds_text(0.0042), "4.2ms");
  EXPECT_EQ(seconds_text(0.020), "20ms");
  EXPECT_EQ(seconds_text(0.9999), "1.0s");
  EXPECT_EQ(seconds_text(12.46), "12.5s");
  EXPECT_EQ(seconds_text(99.96), "1m40s");
  EXPECT_EQ(seconds_text(188), "3m08s");
  EXPECT_EQ(seconds_text(7980), "2h13m");
  EXPECT_EQ(seconds_text(5 * 86400 + 2 * 3600), "5d02h");
}

TEST(Units, SizesAndShares) {
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(1023), "1023B");
  EXPECT_EQ(bytes_text(1024), "1.0KiB");
  EXPECT_EQ(bytes_text(std::uint64_t{3} << 29U), "1.5GiB");
  EXPECT_EQ(bytes_text(std::uint64_t{139} << 30U), "139GiB");
  EXPECT_EQ(bytes_text(UINT64_MAX), "16EiB");
  EXPECT_EQ(share_text(0), "0%");
  EXPECT_EQ(share_text(0.0042), "0.4%");
  EXPECT_EQ(share_text(0.5), "50%");
  EXPECT_EQ(share_text(1), "100%");
}

}  // namespace
}  // namespace nvs::cli
