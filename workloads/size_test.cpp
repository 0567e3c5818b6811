// SPDX-License-Identifier: Apache-2.0
#include "workloads/size.h"

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

TEST(ParseSize, TakesBinaryUnits) {
  EXPECT_EQ(parse_size("12G"), 12ull << 30);
  EXPECT_EQ(parse_size("12GiB"), 12ull << 30);
  EXPECT_EQ(parse_size("4096MiB"), 4096ull << 20);
  EXPECT_EQ(parse_size("64k"), 64ull << 10);
  EXPECT_EQ(parse_size("2T"), 2ull << 40);
}

TEST(ParseSize, TakesDecimalUnitsFractionsAndSpaces) {
  EXPECT_EQ(parse_size("12GB"), 12'000'000'000ull);
  EXPECT_EQ(parse_size("1.5 GB"), 1'500'000'000ull);
  EXPECT_EQ(parse_size("0.5GiB"), 512ull << 20);
  EXPECT_EQ(parse_size("4096"), 4096u);
  EXPECT_EQ(parse_size("4096B"), 4096u);
}

TEST(ParseSize, RefusesWhatIsNoSize) {
  for (const char* text :
       {"", "G", "12X", "-1G", "1.2.3G", "12G ", "0", "0.1", "99999999T", "1e3"}) {
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  }
}

TEST(FormatSize, PrintsThreeDigits) {
  EXPECT_EQ(format_size(12ull << 30), "12.0 GiB");
  EXPECT_EQ(format_size(768ull << 20), "768 MiB");
  EXPECT_EQ(format_size(512), "512 B");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_size((1ull << 30) - 1), "1.0 GiB");
  EXPECT_EQ(format_size(143771ull << 20), "140 GiB");
  EXPECT_EQ(format_size(~0ull), "16.0 EiB");
}

}  // namespace
}  // namespace nvs::workloads
