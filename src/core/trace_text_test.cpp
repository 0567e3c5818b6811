// SPDX-License-Identifier: Apache-2.0
#include "core/trace_text.h"

#include <gtest/gtest.h>

namespace nvs::core {
namespace {

TEST(TraceText, NamesEverythingThatAnEventHolds) {
  EXPECT_EQ(text_of(Event{ClientJoined{ClientId{3}, TenantId{2}, Priority::high, 50}}),
            "joined client=3 tenant=2 high weight=50");
  EXPECT_EQ(text_of(Event{WentIdle{ClientId{3}, GpuId{1}, GrantId{9}}}),
            "idle client=3 gpu=1 grant=9");
  const GpuPolicy policy{Mode::serial, Duration::from_ms(20), Duration::from_s(2)};
  EXPECT_EQ(text_of(Event{PolicySet{GpuId{1}, policy}}),
            "policy gpu=1 serial window_us=20000 turn_ms=2000");
  EXPECT_EQ(text_of(Event{FoundOpen{ClientId{3}, GpuId{1}}}), "found_open client=3 gpu=1");
  EXPECT_EQ(text_of(Event{FoundOpen{ClientId{3}, GpuId{1}, false}}),
            "found_open client=3 gpu=1 late");
  EXPECT_EQ(text_of(Event{Tick{}}), "tick");
}

TEST(TraceText, NamesTheTermsOfAWindow) {
  const WindowTerms terms{kQueueBound, true};
  EXPECT_EQ(text_of(Effect{OpenWindow{ClientId{3}, GpuId{0}, GrantId{7}, terms}}),
            "open client=3 gpu=0 grant=7 bounded awaited");
  EXPECT_EQ(text_of(Effect{ChangeTerms{ClientId{3}, GpuId{0}, GrantId{7}, {}}}),
            "terms client=3 gpu=0 grant=7");
}

TEST(TraceText, AStepIsItsEventAndItsEffects) {
  const Effect effects[] = {CloseWindow{ClientId{1}, GpuId{0}, GrantId{1}}};
  EXPECT_EQ(text_of_step(Instant::from_ns(12'000'345), Wanted{ClientId{2}, GpuId{0}}, effects),
            "12.000345 wanted client=2 gpu=0\n    close client=1 gpu=0 grant=1\n");
}

}  // namespace
}  // namespace nvs::core
