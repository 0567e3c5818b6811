// SPDX-License-Identifier: Apache-2.0
// Room behind work that does not end: it may wait for what the program would submit next.
#include <gtest/gtest.h>

#include "interposer/flow/first_come.h"
#include "interposer/flow/flow.h"
#include "interposer/flow/kinds.h"
#include "interposer/flow/test_events.h"
#include "interposer/gate/gate.h"
#include "interposer/gate/gated_call.h"
#include "interposer/resolve/clock.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

class RoomInVain : public flow::BoundedTest {
 protected:
  static constexpr std::uint64_t kHeld = 1;
  static constexpr std::uint64_t kHeldNext = 2;
  static constexpr std::uint64_t kUnknown = 3;
  static constexpr int kMany = 2 * flow::kQueuedInVain_ns / flow::kFirstGuess_ns;
  static constexpr int kFew = 10;
  // Of a first guess, from its submission on.
  static constexpr std::int64_t kLate_ns = flow::kFirstGuess_ns + 1'000'000;
  // What was queued is still thought to be there. A machine that is later tells nothing.
  static constexpr std::int64_t kSoon_ns = flow::kFirstGuess_ns / 2;

  static bool submit(std::uint64_t kind) {
    const flow::Room room = flow::ask(0, stream(), kind);
    if (room.counted) {
      flow::mark(0, stream());
    } else {
      flow::asks_no_more(0, room.asked_ns);
    }
    return room.counted;
  }
  // What one takes; whether that was known.
  static bool learn(std::uint64_t kind) {
    flow::fake_events.complete = false;
    EXPECT_TRUE(submit(kind));
    os::sleep_ns(flow::kFirstGuess_ns / 4);
    const bool is_known = look().ends_in_ns > 0;
    os::sleep_ns(flow::kFirstGuess_ns / 4);
    EXPECT_FALSE(look().done);
    flow::fake_events.complete = true;
    EXPECT_TRUE(look().done);
    return is_known;
  }
  // A kind of which it is known that it takes less than the first guess. The machine may be slow
  // once, and then it is another one.
  static std::uint64_t known_kind() {
    static std::uint64_t kind = kUnknown;
    for (;;) {
      const std::int64_t before_ns = clock_ns();
      learn(++kind);
      if (clock_ns() - before_ns < flow::kFirstGuess_ns) return kind;
    }
  }
  // Behind work that does not end, until there is no more room.
  static void fill(std::uint64_t kind, std::uint64_t held = kHeld) {
    flow::fake_events.complete = false;
    EXPECT_TRUE(submit(held));
    while (submit(kind)) {
    }
  }
  static void fill_and_be_late(std::uint64_t kind, std::uint64_t held = kHeld) {
    fill(kind, held);
    os::sleep_ns(kLate_ns);
    while (submit(kind)) {
    }
    EXPECT_LE(look().remaining_ns, 2 * kBound_ns);
  }
  static void wait_in_vain() { flow::waited_in_vain(0, clock_ns()); }
};

TEST_F(RoomInVain, OneHasWaitedForAllUntilSomethingEnds) {
  const std::uint64_t known = known_kind();
  fill_and_be_late(known);
  wait_in_vain();
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(submit(known));
  flow::fake_events.complete = true;
  EXPECT_TRUE(look().done);
  fill_and_be_late(known, kHeldNext);
}

// Other threads took the room.
TEST_F(RoomInVain, NobodyHasWhereSomethingEndedMeanwhile) {
  const std::uint64_t known = known_kind();
  const std::int64_t since_ns = clock_ns();
  fill(known);
  flow::fake_events.complete = true;
  EXPECT_TRUE(look().done);
  fill_and_be_late(known, kHeldNext);
  flow::waited_in_vain(0, since_ns);
  EXPECT_FALSE(submit(known));
  wait_in_vain();
  EXPECT_TRUE(submit(known));
}

// What it takes may be what keeps it waiting.
TEST_F(RoomInVain, SeveralHaveToWhereNothingIsKnown) {
  fill_and_be_late(kUnknown);
  for (int i = 0; i < flow::kVainMax; ++i) {
    EXPECT_FALSE(submit(kUnknown));
    wait_in_vain();
  }
  EXPECT_TRUE(submit(kUnknown));
}

TEST_F(RoomInVain, NotEverythingIsQueuedAllTheSame) {
  const std::uint64_t known = known_kind();
  fill_and_be_late(known);
  wait_in_vain();
  while (submit(known)) {
  }
  EXPECT_GE(look().remaining_ns, flow::kQueuedInVain_ns);
}

TEST_F(RoomInVain, ACallSaysSoWhenItHasLostPatience) {
  set_real_for_test<Row::cuMemsetD8_v2>(
      [](CUdeviceptr, unsigned char, std::size_t) { return CUDA_SUCCESS; });
  set_real_for_test<Row::cuCtxGetDevice>([](CUdevice* gpu) {
    *gpu = 0;
    return CUDA_SUCCESS;
  });
  gate::start_over_in_child();
  gate::set_bounded(true);
  const std::uint64_t known = known_kind();
  fill_and_be_late(known);
  EXPECT_EQ(GatedCall<Row::cuMemsetD8_v2>::call(0, 0, 1), CUDA_SUCCESS);
  EXPECT_TRUE(submit(known));
  gate::start_over_in_child();
}

// The program may hold it back for as long each time, and that is learnt.
TEST_F(RoomInVain, NorDoesItMatterWhatTheOneThatIsHeldTakes) {
  const std::uint64_t known = known_kind();
  flow::fake_events.complete = false;
  for (int i = 0; i < kMany; ++i) ASSERT_TRUE(flow::count(0, stream(), kHeld));
  flow::mark(0, stream());
  EXPECT_FALSE(submit(known));
  wait_in_vain();
  EXPECT_TRUE(submit(known));
}

// Whatever the host does meanwhile: only a moment before it is late proves anything.
TEST_F(RoomInVain, AKernelThatAlwaysTakesAsLongIsWaitedForByAll) {
  for (bool in_time = false; !in_time;) {
    SetUp();
    const std::uint64_t known = known_kind();
    while (!learn(kHeld)) {
    }
    const std::int64_t before_ns = clock_ns();
    flow::fake_events.complete = false;
    EXPECT_TRUE(submit(kHeld));
    // Not if its last end was seen late.
    const bool is_steady = look().ends_in_ns > 0;
    while (submit(known)) {
    }
    wait_in_vain();
    // As it runs, there is room for a few.
    int made = 0;
    while (made < kMany && submit(known)) ++made;
    in_time = is_steady && clock_ns() - before_ns < kLate_ns - flow::kFirstGuess_ns;
    EXPECT_TRUE(made < kFew || !in_time);
  }
}

// A thread with short work and one with long: room that is enough for the first is not for the
// other, and so the first would always find some.
TEST_F(RoomInVain, WhoAskedFirstComesFirst) {
  constexpr std::uint64_t kLong = 1000;
  for (bool in_time = false; !in_time;) {
    SetUp();
    const std::int64_t before_ns = clock_ns();
    fill(kUnknown);
    const flow::Room first = flow::ask(0, stream(), kLong);
    // Now there is room for another one.
    flow::set_bound(0, 2 * kBound_ns);
    const flow::Room second = flow::ask(0, stream(), kUnknown);
    flow::asks_no_more(0, first.asked_ns);
    const flow::Room again = flow::ask(0, stream(), kUnknown, second.asked_ns);
    in_time = clock_ns() - before_ns < kSoon_ns;
    if (!in_time) continue;
    EXPECT_FALSE(first.counted);
    EXPECT_FALSE(second.counted);
    EXPECT_GT(second.wait_ns, 0);
    EXPECT_TRUE(again.counted);
  }
}

// The same thread goes on with something else.
TEST_F(RoomInVain, WhoHasComeInLeavesNobodyWaiting) {
  for (bool in_time = false; !in_time;) {
    SetUp();
    const std::int64_t before_ns = clock_ns();
    fill(kUnknown);
    const flow::Room first = flow::ask(0, stream(), kUnknown);
    flow::set_bound(0, 4 * kBound_ns);
    const flow::Room again = flow::ask(0, stream(), kUnknown, first.asked_ns);
    flow::mark(0, stream());
    const bool is_next_in = submit(kUnknown);
    in_time = clock_ns() - before_ns < kSoon_ns;
    if (!in_time) continue;
    EXPECT_FALSE(first.counted);
    EXPECT_TRUE(again.counted);
    EXPECT_TRUE(is_next_in);
  }
}

}  // namespace
}  // namespace nvs::interposer
