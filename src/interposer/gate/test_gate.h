// SPDX-License-Identifier: Apache-2.0
// For tests of the gate without a preloaded library: hooks are called directly, and the driver is a
// fake whose launch does what the test wants.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "interposer/gate/gate.h"
#include "interposer/gate/slots.h"

namespace nvs::interposer {

inline constexpr std::int64_t kNoLimit = -1;

struct FakeDriver {
  std::function<void()> in_launch;
  std::atomic<int> launches{0};
  std::atomic<int> inside{0};
  std::atomic<bool> capturing{false};
};
extern FakeDriver fake;
extern thread_local int current_device;

CUresult launch();

// Until a thread sleeps in the kernel, which at a closed gate is where it stays.
void wait_until_asleep(int thread);
bool is_asleep(int thread);

// Runs `body` in the child of a fork; 0 if it ended well and nothing was expected in vain.
int in_child(const std::function<void()>& body);

enum class Membarrier { refused, trapped };
// For the rest of the process. Trapped: the call raises SIGSYS.
void forbid_membarrier(Membarrier how);

// All slots are given out, to this thread as it seems.
class AllSlotsTaken {
 public:
  AllSlotsTaken();
  ~AllSlotsTaken();
  AllSlotsTaken(const AllSlotsTaken&) = delete;
  AllSlotsTaken& operator=(const AllSlotsTaken&) = delete;

 private:
  std::vector<gate::Slot*> taken_;
};

class GateTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override { EXPECT_EQ(gate::threads_inside(), 0); }
};

}  // namespace nvs::interposer
