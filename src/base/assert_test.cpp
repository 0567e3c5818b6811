// SPDX-License-Identifier: Apache-2.0
#include "base/assert.h"

#include <gtest/gtest.h>

namespace {

TEST(Assert, PassesInSilence) {
  int evaluated = 0;
  NVS_ASSERT(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(AssertDeathTest, NamesTheConditionAndThePlace) {
  EXPECT_DEATH(NVS_ASSERT(1 + 1 == 3),
               "assert_test.cpp:[0-9]+: NVS_ASSERT\\(1 \\+ 1 == 3\\) failed");
}

}  // namespace
