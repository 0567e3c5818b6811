// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/hold.h"

#include <gtest/gtest.h>

#include "interposer/gate/waits.h"
#include "interposer/session/client.h"

namespace nvs::interposer::session {
namespace {

constexpr int kHeldGpu = 3;

class HoldTest : public testing::Test {
 protected:
  void SetUp() override { gpus[kHeldGpu].phase = Phase::open; }
  void TearDown() override {
    gpus[kHeldGpu] = {};
    gate::open(kHeldGpu);
  }
};

TEST_F(HoldTest, KeepsOthersOutWhateverTheDaemonSays) {
  {
    const Hold hold(1U << kHeldGpu);
    EXPECT_TRUE(hold.is_alone());
    EXPECT_TRUE(gate::is_closed(kHeldGpu));
    const os::FutexGuard guard(lock);
    open_gate(kHeldGpu);
    EXPECT_TRUE(gate::is_closed(kHeldGpu));
  }
  EXPECT_FALSE(gate::is_closed(kHeldGpu));
}

TEST_F(HoldTest, LeavesAGateClosedThatWasClosedMeanwhile) {
  for (const Phase phase : {Phase::draining, Phase::closed}) {
    {
      const Hold hold(1U << kHeldGpu);
      gpus[kHeldGpu].phase = phase;
    }
    EXPECT_TRUE(gate::is_closed(kHeldGpu));
  }
}

// Threads that met the gate while the window was ours have not asked for one.
TEST_F(HoldTest, WhoeverWaitsLooksAgainWhenItEnds) {
  std::uint32_t changes = 0;
  {
    const Hold hold(1U << kHeldGpu);
    changes = gate::waits::changes();
    gpus[kHeldGpu].phase = Phase::closed;
  }
  EXPECT_NE(gate::waits::changes(), changes);
}

}  // namespace
}  // namespace nvs::interposer::session
