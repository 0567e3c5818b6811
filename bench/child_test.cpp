// SPDX-License-Identifier: Apache-2.0
#include "bench/child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "bench/failure.h"

namespace nvs::bench {
namespace {

class Lines : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(ends_), 0); }
  void TearDown() override {
    ::close(ends_[0]);
    close_writer();
  }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  void write_text(const std::string& text) {
    ASSERT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  int ends_[2] = {-1, -1};
};

TEST_F(Lines, ArriveOneByOne) {
  ASSERT_TRUE(write_line(ends_[1], {{"a", 1}}));
  ASSERT_TRUE(write_line(ends_[1], {{"b", "two\nlines"}}));
  LineReader reader(ends_[0]);
  EXPECT_EQ(reader.next(-1)->at("a"), 1);
  EXPECT_EQ(reader.next(-1)->at("b"), "two\nlines");
}

TEST_F(Lines, EndWithTheStream) {
  write_text("{\"a\":1}\n{\"torn\":");
  close_writer();
  LineReader reader(ends_[0]);
  EXPECT_TRUE(reader.next(-1));
  EXPECT_FALSE(reader.next(-1));
}

TEST_F(Lines, ThatAreNoJsonAreFailures) {
  write_text("hello\n");
  LineReader reader(ends_[0]);
  EXPECT_THROW(reader.next(-1), Failure);
}

TEST_F(Lines, ThatDoNotComeAreFailures) {
  LineReader reader(ends_[0]);
  EXPECT_THROW(reader.next(now_ns() + 5'000'000), Failure);
}

TEST(Clock, SleepsUntilAnInstant) {
  const std::int64_t until = now_ns() + 3'000'000;
  sleep_until_ns(until);
  EXPECT_GE(now_ns(), until);
  sleep_until_ns(until);
}

}  // namespace
}  // namespace nvs::bench
