// SPDX-License-Identifier: Apache-2.0
#include "base/byte_size.h"

#include <gtest/gtest.h>

namespace nvs {
namespace {

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kGi = kKi * kKi * kKi;

TEST(ByteSize, SizesAsPeopleWriteThem) {
  const struct {
    const char* text;
    std::uint64_t bytes;
  } cases[] = {
      {"4Gi", 4 * kGi},
      {"4096Mi", 4 * kGi},
      {"4GiB", 4 * kGi},
      {"4G", 4'000'000'000},
      {"4GB", 4'000'000'000},
      {"512MiB", 512 * kKi * kKi},
      {"500k", 500'000},
      {"500K", 500'000},
      {"500kB", 500'000},
      {"2Ki", 2 * kKi},
      {"1", 1},
      {"4096", 4096},
      {"4096B", 4096},
      {"1.5Gi", 3 * kGi / 2},
      {"0.1Ki", 102},
      {"1Ti", kKi * kGi},
      {"1024Ti", kMemoryMost},
      // No double holds these.
      {"999999999999999", 999'999'999'999'999},
      {"1048575.999999999999999Gi", 1'125'899'906'842'623},
      {"0.000000001T", 1000},
      {"007", 7},
  };
  for (const auto& [text, bytes] : cases) {
    EXPECT_EQ(parse_bytes(text), bytes) << text;
    EXPECT_EQ(parse_memory(text), (MemoryAmount{bytes, 0})) << text;
  }
}

TEST(ByteSize, WhatIsNoSize) {
  for (const char* text : {"",
                           "0",
                           "0Gi",
                           "0.5",
                           "1.5B",
                           "4 Gi",
                           " 4Gi",
                           "4Gi ",
                           "-4Gi",
                           "+4Gi",
                           "1e9",
                           "4gi",
                           "4g",
                           "4kiB",
                           "4ki",
                           "4Gib",
                           "4GB ",
                           "4Ei",
                           "4Pi",
                           "1025Ti",
                           "Gi",
                           ".5Gi",
                           "5.Gi",
                           "1..5Gi",
                           "1.5.Gi",
                           "0x10",
                           "4,5Gi",
                           "none",
                           "nan",
                           "inf",
                           "4Gi\n",
                           "4%Gi",
                           "m",
                           "4m",
                           "٤Gi",
                           "1048576.1Gi",
                           "99999999999999999999",
                           "0.0000000001Ki",
                           "1.0000000000000000000Gi",
                           "00000000000000000000000000000001"}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
    EXPECT_EQ(parse_memory(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_bytes(std::string_view("4Gi\0", 4)), std::nullopt);
  EXPECT_EQ(parse_bytes("25%"), std::nullopt);
}

TEST(ByteSize, PartsOfAGpu) {
  EXPECT_EQ(parse_memory("25%"), (MemoryAmount{0, 25}));
  EXPECT_EQ(parse_memory("100%"), (MemoryAmount{0, 100}));
  for (const char* text :
       {"%", "0%", "101%", "2.5%", "25%%", "-1%", " 1%", "1 %", "4Gi and 25", "4Gi and ",
        " and 25%", "25% and 4Gi", "4Gi and 25% and 5%", "4Gi 25%"}) {
    EXPECT_EQ(parse_memory(text), std::nullopt) << text;
  }
  EXPECT_EQ(bytes_of({0, 25}, 8 * kGi), 2 * kGi);
  EXPECT_EQ(bytes_of({0, 33}, kMemoryMost), kMemoryMost / 100 * 33 + kMemoryMost % 100 * 33 / 100);
  EXPECT_EQ(bytes_of({0, 25}, 0), std::nullopt) << "of a size that nobody knows";
  EXPECT_EQ(bytes_of({7, 25}, 0), 7U);
  EXPECT_EQ(bytes_of({7, 0}, 5), 7U);
}

TEST(ByteSize, Cores) {
  EXPECT_EQ(parse_cores("1"), 1U);
  EXPECT_EQ(parse_cores("40"), 40U);
  EXPECT_EQ(parse_cores("40%"), 40U);
  EXPECT_EQ(parse_cores("100"), 100U);
  for (const char* text : {"", "0", "101", "-1", "+5", "4.5", "40 %", "40%%", "x", "1e1", "%",
                           "0x10", "18446744073709551617", "none"}) {
    EXPECT_EQ(parse_cores(text), std::nullopt) << text;
  }
}

TEST(ByteSize, TheTightestOfTwoIsBoth) {
  EXPECT_EQ(tightest({5, 0}, {3, 0}), (MemoryAmount{3, 0}));
  EXPECT_EQ(tightest({0, 20}, {0, 30}), (MemoryAmount{0, 20}));
  const MemoryAmount both = tightest({2 * kGi, 0}, {0, 25});
  EXPECT_EQ(bytes_of(both, 4 * kGi), kGi);
  EXPECT_EQ(bytes_of(both, 100 * kGi), 2 * kGi);
  EXPECT_EQ(text_of(both), "2Gi and 25%");
}

TEST(ByteSize, TextsLoseNothing) {
  const struct {
    MemoryAmount amount;
    const char* text;
  } cases[] = {{{4 * kGi, 0}, "4Gi"},         {{3 * kGi / 2, 0}, "1536Mi"},
               {{4'000'000'000, 0}, "4G"},    {{4097, 0}, "4097"},
               {{500'000, 0}, "500k"},        {{1, 0}, "1"},
               {{kMemoryMost, 0}, "1024Ti"},  {{0, 25}, "25%"},
               {{4 * kGi, 25}, "4Gi and 25%"}};
  for (const auto& [amount, text] : cases) {
    EXPECT_EQ(text_of(amount), text);
    EXPECT_EQ(parse_memory(text), amount) << text;
  }
}

}  // namespace
}  // namespace nvs
