// SPDX-License-Identifier: Apache-2.0
#include "daemon/folder_watch.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

TEST(FolderWatch, TwoLooksInARowCount) {
  Instant now = Instant{} + Duration::from_s(100);
  FolderWatch watch(now);
  const auto look = [&](bool is_lost) {
    now = watch.next_look();
    return watch.is_lost_for_good(now, is_lost);
  };
  EXPECT_FALSE(look(false));
  EXPECT_FALSE(look(true));
  EXPECT_FALSE(look(false)) << "it was put back";
  EXPECT_FALSE(look(true));
  EXPECT_TRUE(look(true));
}

TEST(FolderWatch, ItLooksNowAndThen) {
  const Instant start = Instant{} + Duration::from_s(100);
  FolderWatch watch(start);
  EXPECT_EQ(watch.next_look(), start + kFolderLook);
  const Instant late = start + Duration::from_s(50);
  watch.is_lost_for_good(late, false);
  EXPECT_EQ(watch.next_look(), late + kFolderLook);
}

}  // namespace
}  // namespace nvs::daemon
