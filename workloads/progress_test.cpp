// SPDX-License-Identifier: Apache-2.0
#include "workloads/progress.h"

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

TEST(RenderBar, FillsFromTheLeft) {
  EXPECT_EQ(render_bar(0.0, 10), "[..........]");
  EXPECT_EQ(render_bar(0.44, 10), "[####......]");
  EXPECT_EQ(render_bar(1.0, 10), "[##########]");
}

TEST(RenderBar, IsFullOnlyAtTheEnd) { EXPECT_EQ(render_bar(0.999, 10), "[#########.]"); }

TEST(RenderBar, ToleratesFractionsOutOfRange) {
  EXPECT_EQ(render_bar(-1, 4), "[....]");
  EXPECT_EQ(render_bar(7, 4), "[####]");
}

TEST(RenderProgress, ShowsIterations) {
  const Progress progress{.done = 120, .total = 300, .fraction = 0.4, .seconds = 6, .rate = 20};
  EXPECT_EQ(render_progress(progress, 10), "[####......]  40 %  120/300  20.0 it/s  6.0 s");
}

TEST(RenderProgress, ShowsNoTotalWhereTimeEndsTheRun) {
  const Progress progress{.done = 120, .total = 0, .fraction = 0.999, .seconds = 6, .rate = 20};
  EXPECT_EQ(render_progress(progress, 10), "[#########.]  99 %  120  20.0 it/s  6.0 s");
}

}  // namespace
}  // namespace nvs::workloads
