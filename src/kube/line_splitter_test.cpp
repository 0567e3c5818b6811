// SPDX-License-Identifier: Apache-2.0
#include "kube/line_splitter.h"

#include <vector>

#include <gtest/gtest.h>

namespace nvs::kube {
namespace {

using Lines = std::vector<std::string>;

class LineSplitterTest : public ::testing::Test {
 protected:
  Result<void> feed(std::string_view piece) {
    return splitter_.feed(piece, [this](std::string_view line) {
      lines_.emplace_back(line);
      return line == "stop" ? LineSplitter::Next::stop : LineSplitter::Next::go_on;
    });
  }

  LineSplitter splitter_{8};
  Lines lines_;
};

TEST_F(LineSplitterTest, SeveralLinesInOnePiece) {
  ASSERT_TRUE(feed("one\ntwo\r\n\nfour"));
  EXPECT_EQ(lines_, (Lines{"one", "two", ""}));
  EXPECT_TRUE(splitter_.has_rest());
  ASSERT_TRUE(feed("\n"));
  EXPECT_EQ(lines_.back(), "four");
  EXPECT_FALSE(splitter_.has_rest());
}

// Section 5.2: lines are torn anywhere, in the middle of a character too.
TEST_F(LineSplitterTest, HoweverThePiecesAreTornTheLinesAreTheSame) {
  const std::string text = "ab\xc3\xa9\r\nc\n\ndef\n";
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (std::size_t second = first; second <= text.size(); ++second) {
      lines_.clear();
      ASSERT_TRUE(feed(text.substr(0, first)));
      ASSERT_TRUE(feed(text.substr(first, second - first)));
      ASSERT_TRUE(feed(text.substr(second)));
      EXPECT_EQ(lines_, (Lines{"ab\xc3\xa9", "c", "", "def"})) << first << " " << second;
      EXPECT_FALSE(splitter_.has_rest());
    }
  }
}

TEST_F(LineSplitterTest, ALineMayBeAsLongAsTheMostAndNoLonger) {
  EXPECT_TRUE(feed("12345678\n"));
  EXPECT_FALSE(feed("ok\n123456789\nnot seen\n"));
  EXPECT_EQ(lines_, (Lines{"12345678", "ok"}));
}

TEST_F(LineSplitterTest, ALineThatNeverEndsIsRefusedAtTheMost) {
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(feed("x")) << i;
  EXPECT_FALSE(feed("x"));
  EXPECT_FALSE(splitter_.has_rest()) << "what is refused is not kept";
}

TEST_F(LineSplitterTest, AReaderThatStopsGetsNoMoreOfThePiece) {
  ASSERT_TRUE(feed("one\nstop\ntwo\n"));
  EXPECT_EQ(lines_, (Lines{"one", "stop"}));
}

TEST_F(LineSplitterTest, ClearForgetsHalfALine) {
  ASSERT_TRUE(feed("half"));
  splitter_.clear();
  ASSERT_TRUE(feed("new\n"));
  EXPECT_EQ(lines_, (Lines{"new"}));
}

}  // namespace
}  // namespace nvs::kube
