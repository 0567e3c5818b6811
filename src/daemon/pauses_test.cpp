// SPDX-License-Identifier: Apache-2.0
#include "daemon/pauses.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr core::ClientId kEarlier{1};
constexpr core::ClientId kEarliest{2};
constexpr Instant kPauseBegin = Instant{} + Duration::from_s(60);

TEST(Pauses, WhoPausedFirstGoesOnFirstAndEachWhenItIsDue) {
  Pauses pauses;
  EXPECT_FALSE(pauses.next_end());
  const Duration later = Duration::from_ns(1);
  pauses.begin(kEarliest, kPauseBegin);
  pauses.begin(kEarlier, kPauseBegin + later);
  EXPECT_EQ(pauses.next_end(), kPauseBegin + kOriginPause);
  EXPECT_FALSE(pauses.take_ended(kPauseBegin + kOriginPause - later));
  EXPECT_EQ(pauses.take_ended(kPauseBegin + kOriginPause), kEarliest);
  EXPECT_FALSE(pauses.take_ended(kPauseBegin + kOriginPause));
  EXPECT_EQ(pauses.next_end(), kPauseBegin + later + kOriginPause);
  EXPECT_EQ(pauses.take_ended(kPauseBegin + Duration::from_s(1)), kEarlier);
  EXPECT_FALSE(pauses.next_end());
}

}  // namespace
}  // namespace nvs::daemon
