// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/compare.h"

#include <gtest/gtest.h>

namespace nvs::conformance {
namespace {

Transcript lines(std::size_t count) {
  Transcript transcript;
  for (std::size_t i = 0; i < count; ++i)
    transcript.push_back("a/b: call(" + std::to_string(i) + ") -> CUDA_SUCCESS");
  return transcript;
}

TEST(Compare, EqualTranscriptsAgree) {
  const Comparison comparison = compare(lines(3), lines(3), {});
  EXPECT_TRUE(comparison.agrees);
  EXPECT_EQ(comparison.report, "3 lines expected, 3 got, 0 differ, 0 more differ as known: PASS\n");
}

TEST(Compare, AnEmptyExpectationAgreesWithNothing) { EXPECT_FALSE(compare({}, {}, {}).agrees); }

TEST(Compare, ADifferingLineIsShownWithBothResults) {
  Transcript actual = lines(3);
  actual[1] = "a/b: call(1) -> CUDA_ERROR_INVALID_VALUE";
  const Comparison comparison = compare(lines(3), actual, {});
  EXPECT_FALSE(comparison.agrees);
  EXPECT_NE(comparison.report.find("a/b: call(1)\n    expected CUDA_SUCCESS\n"
                                   "    got      CUDA_ERROR_INVALID_VALUE\n"),
            std::string::npos);
}

TEST(Compare, MissingAndExtraLinesDiffer) {
  EXPECT_FALSE(compare(lines(3), lines(2), {}).agrees);
  EXPECT_FALSE(compare(lines(2), lines(3), {}).agrees);
}

TEST(Compare, AKnownDifferenceIsAllowed) {
  Transcript actual = lines(100);
  actual[1] = "a/b: call(1) -> CUDA_ERROR_INVALID_VALUE";
  EXPECT_TRUE(compare(lines(100), actual, {{"a/b: call(1)", "why"}}).agrees);
  EXPECT_TRUE(compare(lines(100), actual, {{"a/b: call(1*", "why"}}).agrees);
}

TEST(Compare, AStaleRowFails) {
  const Comparison comparison = compare(lines(100), lines(100), {{"a/b: call(1)", "why"}});
  EXPECT_FALSE(comparison.agrees);
  EXPECT_NE(comparison.report.find("but equal:\na/b: call(1)\n"), std::string::npos);
}

TEST(Compare, FewerThanOneLineInTwentyMayBeKnown) {
  Transcript actual = lines(100);
  KnownDifferences known;
  for (std::size_t i = 0; i < 5; ++i) {
    const std::string key = "a/b: call(" + std::to_string(i) + ")";
    actual[i] = key + " -> CUDA_ERROR_INVALID_VALUE";
    known[key] = "why";
    EXPECT_EQ(compare(lines(100), actual, known).agrees, i < 4) << i;
  }
}

}  // namespace
}  // namespace nvs::conformance
