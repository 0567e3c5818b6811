// SPDX-License-Identifier: Apache-2.0
#include "base/unique_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace nvs {
namespace {

UniqueFd open_null() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

TEST(UniqueFd, ClosesWhenItGoesAway) {
  int fd = -1;
  {
    const UniqueFd owner = open_null();
    ASSERT_TRUE(owner);
    fd = owner.get();
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, MovesOwnership) {
  UniqueFd first = open_null();
  UniqueFd second = open_null();
  const int kept = first.get();
  const int dropped = second.get();
  second = std::move(first);
  EXPECT_EQ(second.get(), kept);
  EXPECT_TRUE(is_open(kept));
  EXPECT_FALSE(is_open(dropped));
}

TEST(UniqueFd, ReleaseLeavesItOpen) {
  UniqueFd owner = open_null();
  const int fd = owner.release();
  EXPECT_FALSE(owner);
  owner.reset();
  EXPECT_TRUE(is_open(fd));
  owner.reset(fd);
  owner.reset();
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, AFailedOpenIsFalse) { EXPECT_FALSE(UniqueFd(::open("/nonexistent", O_RDONLY))); }

}  // namespace
}  // namespace nvs
