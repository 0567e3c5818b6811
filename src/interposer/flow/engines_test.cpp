// SPDX-License-Identifier: Apache-2.0
// Copies on streams of their own, which go on beside kernels.
#include <gtest/gtest.h>

#include "interposer/flow/flow.h"
#include "interposer/flow/kinds.h"
#include "interposer/flow/test_events.h"
#include "interposer/gate/gated_call.h"
#include "interposer/resolve/clock.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

class Engines : public flow::BoundedTest {
 protected:
  static constexpr std::uint64_t kKernel = 1;
  static constexpr std::uint64_t kCopy = 2 | flow::kBesideKernels;

  static CUstream copies() { return reinterpret_cast<CUstream>(0x80); }
  static bool submit(CUstream stream, std::uint64_t kind) {
    const flow::Room room = flow::ask(0, stream, kind);
    if (room.counted) {
      flow::mark(0, stream, room.engine);
    } else {
      flow::asks_no_more(0, room.asked_ns);
    }
    return room.counted;
  }
  // Until there is room for no more.
  static void fill(CUstream stream, std::uint64_t kind) {
    flow::fake_events.complete = false;
    while (submit(stream, kind)) {
    }
  }
  // It holds as long as what was queued is still thought to be there. A machine that is later tells
  // nothing.
  template <class Holds>
  void in_time(Holds holds) {
    for (;;) {
      SetUp();
      const std::int64_t before_ns = clock_ns();
      const bool is_so = holds();
      if (clock_ns() - before_ns >= flow::kFirstGuess_ns / 2) continue;
      EXPECT_TRUE(is_so);
      return;
    }
  }
  static void expect_done() {
    flow::fake_events.complete = true;
    const flow::Look now = look();
    EXPECT_TRUE(now.done);
    EXPECT_TRUE(now.certain);
  }
};

TEST_F(Engines, CopiesDoNotWaitForKernelsNorTheseForThem) {
  fill(stream(), kKernel);
  const std::int64_t queued_ns = look().remaining_ns;
  EXPECT_TRUE(submit(copies(), kCopy));
  fill(copies(), kCopy);
  EXPECT_LT(look().remaining_ns, queued_ns + flow::kFirstGuess_ns) << "they go on at once";
  expect_done();
  fill(copies(), kCopy);
  EXPECT_TRUE(submit(stream(), kKernel));
  expect_done();
}

TEST_F(Engines, NorDoesOneCallOfThemWaitForAnother) {
  in_time([] {
    fill(stream(), kKernel);
    const flow::Room kernel = flow::ask(0, stream(), kKernel);
    EXPECT_TRUE(submit(copies(), kCopy)) << "though that has asked first";
    return !kernel.counted;
  });
}

// What a stream does is in order, and a default stream may be with all others.
TEST_F(Engines, AmongKernelsOfTheirStreamTheyWaitForThose) {
  for (CUstream one : {stream(), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    in_time([one] {
      fill(stream(), kKernel);
      return !submit(one, kCopy);
    });
  }
}

TEST_F(Engines, AStreamThatEndedMayComeBackAsOneOfCopies) {
  fill(stream(), kKernel);
  flow::stream_ends(stream());
  EXPECT_TRUE(submit(stream(), kCopy));
}

TEST_F(Engines, NothingIsDoneBeforeBothAre) {
  flow::fake_events.complete = false;
  EXPECT_TRUE(submit(copies(), kCopy));
  EXPECT_FALSE(look().done);
  EXPECT_GT(look().remaining_ns, 0);
  expect_done();
}

TEST_F(Engines, WhatIsCopiedUnmarkedIsNotCertain) {
  const flow::Room room = flow::ask(0, copies(), kCopy);
  ASSERT_EQ(room.engine, flow::Engine::copies);
  flow::made(0, room.engine);
  EXPECT_FALSE(look().certain);
  flow::emptied(0, flow::now(0));
  expect_done();
}

TEST_F(Engines, ASubmissionThatWasNotMadeIsForgotten) {
  const flow::Room room = flow::ask(0, copies(), kCopy);
  flow::take_back(0, room.engine);
  EXPECT_FALSE(look().certain) << "it was counted";
  flow::emptied(0, flow::now(0));
  EXPECT_TRUE(submit(copies(), kCopy));
  expect_done();
}

TEST_F(Engines, TheEndIsNotForetoldBesideCopies) {
  const auto run = [](bool with_copy) {
    flow::fake_events.complete = false;
    EXPECT_TRUE(!with_copy || submit(copies(), kCopy));
    EXPECT_TRUE(submit(stream(), kKernel));
    os::sleep_ns(flow::kFirstGuess_ns / 4);
    const bool is_known = look().ends_in_ns > 0;
    os::sleep_ns(flow::kFirstGuess_ns / 4);
    EXPECT_FALSE(look().done);
    expect_done();
    return is_known;
  };
  while (!run(false)) {
  }
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(run(true));
}

TEST_F(Engines, CallsAreKnownByTheirNames) {
  for (const char* name : {"cuMemcpyHtoD_v2", "cuMemcpyHtoDAsync_v2_ptsz", "cuMemcpyDtoHAsync"}) {
    EXPECT_TRUE(is_copy_beside_kernels(name)) << name;
  }
  for (const char* name : {"cuMemcpyDtoDAsync_v2", "cuMemcpyAsync", "cuLaunchKernel"}) {
    EXPECT_FALSE(is_copy_beside_kernels(name)) << name;
  }
}

}  // namespace
}  // namespace nvs::interposer
