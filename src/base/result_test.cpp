// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace nvs {
namespace {

Result<int> parse(bool good) {
  if (!good) return tl::unexpected(Error{Errc::kInvalidInput, 0, "parse"});
  return 7;
}

Result<void> check(bool good) {
  if (!good) return tl::unexpected(Error::from_errno(ENOENT, "open"));
  return {};
}

Result<int> parse_twice(bool first, bool second) {
  const int a = NVS_TRY(parse(first));
  const int b = NVS_TRY(parse(second));
  return a + b;
}

struct Box {
  explicit Box(int number) : value(number) {}
  Box(Box&&) = default;
  Box(const Box&) = delete;
  int value;
};

Result<Box> make_box() { return Box(3); }

Result<Box> checked_box(bool good) {
  NVS_TRY(check(good));
  return NVS_TRY(make_box());
}

TEST(Result, TryYieldsTheValue) { EXPECT_EQ(parse_twice(true, true), 14); }

TEST(Result, TryReturnsTheFirstError) {
  const auto result = parse_twice(true, false);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kInvalidInput);
  EXPECT_EQ(result.error().message(), "parse");
}

TEST(Result, TryWorksWithoutAValueAndWithMoveOnlyOnes) {
  const auto box = checked_box(true);
  ASSERT_TRUE(box);
  EXPECT_EQ(box->value, 3);
  const auto none = checked_box(false);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kSystem);
  EXPECT_EQ(none.error().sys, ENOENT);
  EXPECT_EQ(none.error().message(), "open: No such file or directory");
}

}  // namespace
}  // namespace nvs
