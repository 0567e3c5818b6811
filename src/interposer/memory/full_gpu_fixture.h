// SPDX-License-Identifier: Apache-2.0
// For tests on a GPU that others' memory fills: the driver has nothing left, and a daemon may let
// others move out.
#pragma once

#include <atomic>
#include <thread>

#include "interposer/memory/hooks_fixture.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory {

class FullGpuFixture : public HooksFixture {
 protected:
  static constexpr int kGpu = 1;
  static constexpr std::uint64_t kTotal = 128 * vmm::kMiB;

  void SetUp() override {
    HooksFixture::SetUp();
    session::memory_start_over_in_child();
    driver_.device = kGpu;
    driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  void TearDown() override { session::memory_start_over_in_child(); }

  // One that has given us nothing yet.
  static void come_under_daemon() {
    session::memory_announces(kGpu);
    session::memory_known(kGpu, true);
    session::set_visible({.ordinal = kGpu, .total = kTotal, .limit = kTotal});
    allow(0);
  }
  static void allow(std::uint64_t bytes) {
    session::set_allowance({.ordinal = kGpu,
                            .flags = wire::u32{wire::kShared},
                            .number = room().number + 1,
                            .bytes = bytes});
  }
  static swap::Room& room() { return swap::rooms[kGpu]; }
  static std::uint64_t asked() {
    const os::FutexGuard guard(swap::lock);
    return room().asked;
  }
  // A call that others move out for when it asks for room.
  template <class Call>
  static CUresult while_others_leave(Call call) {
    std::atomic<bool> is_over{false};
    std::thread daemon([&is_over] {
      while (asked() == 0 && !is_over) std::this_thread::yield();
      allow(asked());
    });
    const CUresult result = call();
    is_over = true;
    daemon.join();
    return result;
  }
  static void expect_nothing_held() {
    EXPECT_EQ(room().asked, 0U);
    EXPECT_EQ(room().backing, 0U);
    EXPECT_EQ(room().for_driver, 0U);
    EXPECT_FALSE(room().is_short);
  }
};

}  // namespace nvs::interposer::memory
