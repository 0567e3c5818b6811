// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/daemon_presence.h"

#include <gtest/gtest.h>

namespace nvs::plugin {
namespace {

constexpr Duration kMoment = Duration::from_ms(1);

Instant at_s(std::int64_t seconds) { return Instant{} + Duration::from_s(seconds); }

TEST(DaemonPresence, NobodyIsThereUntilItHasAnswered) {
  DaemonPresence presence;
  EXPECT_EQ(presence.unready(at_s(0)), "nvshare-scheduler has not answered yet");
  EXPECT_EQ(presence.withheld(at_s(0)), presence.unready(at_s(0)));
  presence.was_silent(at_s(1), "no such file");
  EXPECT_EQ(presence.unready(at_s(1)), "nvshare-scheduler has not answered yet: no such file");
  // Not even for a minute.
  EXPECT_NE(presence.withheld(at_s(1)), "");
  EXPECT_FALSE(presence.next_deadline());
  presence.answered();
  EXPECT_EQ(presence.unready(at_s(2)), "");
  EXPECT_EQ(presence.withheld(at_s(2)), "");
}

TEST(DaemonPresence, ShortAbsencesDoNotCount) {
  DaemonPresence presence;
  presence.answered();
  presence.was_silent(at_s(100), "refused");
  presence.was_silent(at_s(105), "refused again");
  EXPECT_EQ(presence.unready(at_s(100) + DaemonPresence::kReadyFor - kMoment), "");
  // It is the first silence that counts, and the last reason.
  EXPECT_EQ(presence.unready(at_s(100) + DaemonPresence::kReadyFor),
            "nvshare-scheduler does not answer: refused again");
  presence.answered();
  EXPECT_EQ(presence.unready(at_s(1000)), "");
  EXPECT_FALSE(presence.next_deadline());
}

TEST(DaemonPresence, DevicesAreWithheldAfterAMinute) {
  DaemonPresence presence;
  presence.answered();
  presence.was_silent(at_s(100), "refused");
  ASSERT_EQ(presence.next_deadline(), at_s(160));
  EXPECT_EQ(presence.withheld(at_s(160) - kMoment), "");
  EXPECT_EQ(presence.withheld(at_s(160)), "nvshare-scheduler does not answer: refused");
  presence.answered();
  EXPECT_EQ(presence.withheld(at_s(161)), "");
}

}  // namespace
}  // namespace nvs::plugin
