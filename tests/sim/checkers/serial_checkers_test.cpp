// SPDX-License-Identifier: Apache-2.0
// Checkers of serial mode, content with a good history and not with a bad one.
#include <gtest/gtest.h>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/history.h"

namespace nvs::sim {
namespace {

using core::ClientId;
using core::GpuId;
using core::Priority;
using core::TenantId;

TEST(SerialTurns, FindsATurnCutShort) {
  const auto begin = [] {
    History history(make_serial_turns(), 1, {core::Mode::serial, ms(20), ms(500)});
    history.join(1).join(2).want(1, {open(1, 1)}).want(2);
    return history;
  };
  EXPECT_EQ(begin().wait(ms(500)).tick({close(1, 1)}).complaint(), "");
  EXPECT_EQ(begin().idle(1, 1, {close(1, 1)}).complaint(), "");
  EXPECT_EQ(begin().step(core::TenantPaused{TenantId{1}}, {close(1, 1)}).complaint(), "");
  expect_complaint(begin().wait(ms(499)).tick({close(1, 1)}), "ended after");
  // One that pauses has the rest of its turn, and no other.
  const auto paused = [&] { return begin().wait(ms(100)).drained(1, 1).wait(ms(99)); };
  EXPECT_EQ(paused().want(1, {open(1, 2)}).wait(ms(301)).tick({close(1, 2)}).complaint(), "");
  expect_complaint(paused().want(1, {open(1, 2)}).wait(ms(300)).tick({close(1, 2)}), "ended after");
  EXPECT_EQ(paused().wait(ms(1)).tick({open(2, 2)}).complaint(), "");
  expect_complaint(paused().tick({open(2, 2)}), "which paused for");
  // Half of which is used.
  const auto idles = [&] { return begin().wait(ms(30)).drained(1, 1).wait(ms(39)); };
  EXPECT_EQ(idles().wait(ms(1)).tick({open(2, 2)}).complaint(), "");
  expect_complaint(idles().tick({open(2, 2)}), "which paused for");
}

TEST(SerialTurns, KnowWhoseTurnItIs) {
  const auto begin = [] {
    History history(make_serial_turns(), 1, {core::Mode::serial, ms(20), ms(500)});
    return history.join(1).join(2).join(3, 3, Priority::high);
  };
  const auto paused = [&] {
    return begin().want(1, {open(1, 1)}).want(2).wait(ms(100)).drained(1, 1);
  };
  // It comes back before the Tick that ends its rest: the turn is the same.
  EXPECT_EQ(paused()
                .wait(core::kRestMin + Duration::from_us(20))
                .want(1, {open(1, 2)})
                .wait(ms(300))
                .tick({close(1, 2)})
                .complaint(),
            "");
  // Somebody else has had the GPU since, in no time: its clock stands still.
  const core::ClientLeft gone{ClientId{3}};
  EXPECT_EQ(paused().want(3, {open(3, 2)}).step(gone, {open(2, 3)}).complaint(), "");
  // What it was found with was no turn.
  const core::FoundOpen found{ClientId{1}, GpuId{0}};
  EXPECT_EQ(begin()
                .step(found, {open(1, 1)})
                .want(2)
                .wait(ms(100))
                .drained(1, 1, {open(2, 2)})
                .complaint(),
            "");
  // Its client went with its window.
  const auto left = paused().wait(ms(1)).want(1, {open(1, 2)}).join(4, 1);
  EXPECT_EQ(History(left).step(core::ClientLeft{ClientId{1}}, {open(2, 3)}).complaint(), "");
}

}  // namespace
}  // namespace nvs::sim
