// SPDX-License-Identifier: Apache-2.0
// What the daemon hears of a thread that stands at a closed gate.
#include "interposer/session/test_session.h"

namespace nvs::interposer {
namespace {

using session::Phase;
using Wants = SessionTest;

// Its gate is closed until memory that it reaches has come.
TEST_F(Wants, OfAGpuThatItWasNotToldOfTheDaemonHearsNothing) {
  gpu().phase = Phase::closed;
  gpu().unserved = true;
  gpu().opens_alone = false;
  gpu().memory_told = 1;
  session::want(0);
  session::tend();
  EXPECT_TRUE(heard_nothing());
  gpu().unserved = false;
  session::want(0);
  EXPECT_TRUE(heard<wire::Want>());
}

}  // namespace
}  // namespace nvs::interposer
