// SPDX-License-Identifier: Apache-2.0
#include "interposer/flow/kinds.h"

#include <gtest/gtest.h>

namespace nvs::interposer::flow {
namespace {

constexpr std::int64_t kTook_ns = 7'000'000;

class KindsTest : public testing::Test {
 protected:
  void learn(std::uint64_t key, std::int64_t took_ns) {
    for (int i = 0; i < 50; ++i) {
      Kinds::Span span = {};
      span.add(kinds.find(key));
      kinds.learn(span, took_ns, Kinds::Sight::seen);
    }
  }
  std::int64_t guess_ns(std::uint64_t key) { return kinds.guess_ns(kinds.find(key)); }
  // Kernels that are launched once each, as those of modules and graphs that are made anew.
  void see_many() {
    for (int i = 0; i < 20 * kKindsMax; ++i) {
      kinds.find(0x1000 + 16 * static_cast<std::uint64_t>(i));
      if (i % 16 == 0) kinds.find(kUsed);
    }
  }
  static constexpr std::uint64_t kUsed = 1;
  Kinds kinds;
};

TEST_F(KindsTest, WhatIsAskedForAgainAndAgainIsRemembered) {
  learn(kUsed, kTook_ns);
  see_many();
  EXPECT_NEAR(static_cast<double>(guess_ns(kUsed)), kTook_ns, 1e5);
}

TEST_F(KindsTest, WhatIsNewIsToldApartHoweverManyThereWere) {
  see_many();
  learn(2, kTook_ns);
  learn(3, kTook_ns / 100);
  EXPECT_NE(kinds.find(2), 0);
  EXPECT_NEAR(static_cast<double>(guess_ns(2)), kTook_ns, 1e5);
  EXPECT_NEAR(static_cast<double>(guess_ns(3)), kTook_ns / 100.0, 1e4);
}

// Its place is another one's, of which nothing is known.
TEST_F(KindsTest, WhatWasForgottenIsNew) {
  learn(2, kTook_ns);
  see_many();
  EXPECT_FALSE(kinds.has_learnt(kinds.find(2)));
}

TEST_F(KindsTest, WithoutAKeyNothingIsForgotten) {
  see_many();
  EXPECT_EQ(kinds.find(0), 0);
}

}  // namespace
}  // namespace nvs::interposer::flow
