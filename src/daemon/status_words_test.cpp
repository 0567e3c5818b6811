// SPDX-License-Identifier: Apache-2.0
#include "daemon/status_words.h"

#include <limits>

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

TEST(StatusWords, GoThereAndBack) {
  for (const auto mode : {core::Mode::automatic, core::Mode::serial, core::Mode::concurrent})
    EXPECT_EQ(parse_mode(mode_word(mode)), mode);
  for (const auto priority : {core::Priority::low, core::Priority::normal, core::Priority::high})
    EXPECT_EQ(parse_priority(priority_word(priority)), priority);
  EXPECT_EQ(mode_word(core::Mode::automatic), "auto");
  EXPECT_EQ(priority_word(core::Priority::high), "high");
  EXPECT_EQ(state_word(core::TenantState::absent), "absent");
  EXPECT_EQ(state_word(core::TenantState::loose), "loose");
  EXPECT_EQ(state_word(core::TenantState::paused), "paused");
  EXPECT_EQ(state_word(core::TenantState::faulted), "faulted");
}

TEST(StatusWords, OthersAreNone) {
  for (const char* word : {"", "Auto", "automatic", "auto ", "seriall"})
    EXPECT_FALSE(parse_mode(word)) << word;
  for (const char* word : {"", "HIGH", "urgent", "0"}) EXPECT_FALSE(parse_priority(word)) << word;
}

TEST(StatusWords, NumbersHaveLimits) {
  EXPECT_EQ(window_of_ms(1), Duration::from_ms(1));
  EXPECT_EQ(window_of_ms(1000), Duration::from_s(1));
  EXPECT_EQ(window_of_ms(2.5), Duration::from_us(2500));
  EXPECT_EQ(turn_of_s(0.1), Duration::from_ms(100));
  EXPECT_EQ(turn_of_s(3600), Duration::from_s(3600));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  for (const double ms : {0.999, 1000.001, 0.0, -20.0, 1e300, kInfinity, -kInfinity, kNotANumber})
    EXPECT_FALSE(window_of_ms(ms)) << ms;
  for (const double seconds : {0.0999, 3600.001, 0.0, -1.0, 1e300, kInfinity, kNotANumber})
    EXPECT_FALSE(turn_of_s(seconds)) << seconds;
}

}  // namespace
}  // namespace nvs::daemon
