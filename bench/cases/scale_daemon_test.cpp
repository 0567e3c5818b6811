// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "bench/cases/scale_part.h"
#include "bench/failure.h"

namespace nvs::bench::scale_case {
namespace {

TEST(ScaleDaemon, ADaemonThatServesNobodyIsNoFigure) {
  EXPECT_NO_THROW(expect_served({200, 2000, 1990}, 8, 2));
  EXPECT_NO_THROW(expect_served({24, 2000, 1990}, 1, 2));
  EXPECT_THROW(expect_served({0, 2000, 2000}, 1, 2), Failure);
  EXPECT_THROW(expect_served({24, 2000, 2000}, 8, 2), Failure) << "one GPU of eight";
  EXPECT_THROW(expect_served({200, 2000, 500}, 8, 2), Failure);
}

}  // namespace
}  // namespace nvs::bench::scale_case
