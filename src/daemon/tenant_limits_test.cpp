// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenant_limits.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr LimitSource kWeakestFirst[] = {LimitSource::defaults,    LimitSource::run,
                                         LimitSource::environment, LimitSource::resource,
                                         LimitSource::annotation,  LimitSource::admin};

TEST(TenantLimits, NobodySaidAnything) {
  const TenantLimits limits;
  EXPECT_EQ(limits.memory(), EffectiveLimit<MemoryAmount>{});
  EXPECT_EQ(limits.cores(), EffectiveLimit<std::uint32_t>{});
  EXPECT_EQ(limits.cap(), core::kNoCap);
  EXPECT_FALSE(limits.has_brought());
}

// Every source with every word, against a reckoning of its own.
TEST(TenantLimits, TheStrongestWordCounts) {
  const CoresWord words[] = {{}, CoresWord::none(), CoresWord::of(1)};
  for (int choice = 0; choice < 3 * 3 * 3 * 3 * 3 * 3; ++choice) {
    TenantLimits limits;
    EffectiveLimit<std::uint32_t> expected;
    int rest = choice;
    for (std::size_t i = 0; i < std::size(kWeakestFirst); ++i, rest /= 3) {
      CoresWord word = words[rest % 3];
      const auto percent = static_cast<std::uint32_t>(10 * (i + 1));
      if (word.kind == CoresWord::Kind::set) word.value = percent;
      limits.say(kWeakestFirst[i], word);
      limits.say(kWeakestFirst[i], word.kind == CoresWord::Kind::set
                                       ? MemoryWord::of({percent, 0})
                                       : MemoryWord{MemoryWord::Kind(word.kind), {}});
      if (word.is_unset()) continue;
      expected.source = kWeakestFirst[i];
      expected.value.reset();
      if (word.kind == CoresWord::Kind::set) expected.value = percent;
    }
    EXPECT_EQ(limits.cores(), expected) << choice;
    EXPECT_EQ(limits.cap(), expected.value.value_or(0) * 10'000) << choice;
    EXPECT_EQ(limits.memory().source, expected.source) << choice;
    EXPECT_EQ(limits.memory().value.value_or(MemoryAmount{}).bytes, expected.value.value_or(0));
  }
}

TEST(TenantLimits, AWordIsReplacedByTheNextOfItsSource) {
  TenantLimits limits;
  limits.say(LimitSource::defaults, CoresWord::of(50));
  limits.say(LimitSource::admin, CoresWord::of(20));
  limits.say(LimitSource::admin, CoresWord::of(90));
  EXPECT_EQ(limits.cores().value, 90U);
  limits.say(LimitSource::admin, CoresWord{});
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{50, LimitSource::defaults}));
}

TEST(TenantLimits, ProcessesLowerWhatOthersBroughtAndNeverRaiseIt) {
  TenantLimits limits;
  limits.bring(LimitSource::run, 40);
  limits.bring(LimitSource::environment, 90);  // although the environment is the stronger source
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{40, LimitSource::run}));
  limits.bring(LimitSource::environment, 30);
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{30, LimitSource::environment}));
  limits.bring(LimitSource::run, 20);
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{20, LimitSource::run}));
  limits.bring(LimitSource::environment, 20);
  EXPECT_EQ(limits.cores().source, LimitSource::run) << "nothing has changed";
  EXPECT_EQ(limits.memory().value, std::nullopt);

  limits.bring(LimitSource::run, MemoryAmount{1000, 0});
  limits.bring(LimitSource::environment, MemoryAmount{0, 50});
  EXPECT_EQ(limits.memory().value, (MemoryAmount{1000, 50})) << "both hold";
  limits.bring(LimitSource::run, MemoryAmount{2000, 60});
  EXPECT_EQ(limits.memory().value, (MemoryAmount{1000, 50}));
}

TEST(TenantLimits, WhatAnEarlierTenantBroughtGoesOnToHold) {
  TenantLimits before;
  before.say(LimitSource::admin, CoresWord::of(1));  // is kept elsewhere
  EXPECT_FALSE(before.has_brought());
  before.bring(LimitSource::environment, 40);
  before.bring(LimitSource::run, MemoryAmount{1000, 0});
  EXPECT_TRUE(before.has_brought());
  TenantLimits limits;
  limits.bring(LimitSource::run, 50);
  limits.bring(before);
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{40, LimitSource::environment}));
  EXPECT_EQ(limits.memory().value, (MemoryAmount{1000, 0}));
}

TEST(TenantLimits, SourcesHaveWords) {
  EXPECT_EQ(source_word(LimitSource::defaults), "default");
  EXPECT_EQ(source_word(LimitSource::admin), "admin");
}

TEST(TenantLimits, WhoIsNotTrustedLowersAndDoesNotRaise) {
  TenantLimits limits;
  limits.say(LimitSource::defaults, CoresWord::of(40));
  limits.say(LimitSource::annotation, CoresWord::of(90));
  limits.set_trust(TenantLimits::Trust::none);
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{40, LimitSource::defaults}));
  limits.bring(LimitSource::environment, 70);
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{40, LimitSource::defaults}));
  limits.bring(LimitSource::environment, 20);
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{20, LimitSource::environment}));
  limits.say(LimitSource::annotation, CoresWord::none());
  EXPECT_EQ(limits.cores().value, 20U);
  limits.say(LimitSource::annotation, CoresWord::of(10));
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{10, LimitSource::annotation}));
  limits.say(LimitSource::annotation, CoresWord::none());
  limits.say(LimitSource::admin, CoresWord::of(80));
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{80, LimitSource::admin}));
  limits.say(LimitSource::admin, CoresWord{});
  limits.set_trust(TenantLimits::Trust::full);
  EXPECT_EQ(limits.cores(), (EffectiveLimit<std::uint32_t>{std::nullopt, LimitSource::annotation}));
}

// Which is less depends on the GPU.
TEST(TenantLimits, BytesAndPercentOfWhoIsNotTrustedBothHold) {
  constexpr std::uint64_t kFourGi = 4ULL << 30U;
  TenantLimits limits;
  limits.say(LimitSource::defaults, MemoryWord::of({kFourGi, 0}));
  limits.bring(LimitSource::environment, MemoryAmount{0, 100});
  limits.set_trust(TenantLimits::Trust::none);
  EXPECT_EQ(limits.memory().value, (MemoryAmount{kFourGi, 100}));
  limits.say(LimitSource::annotation, MemoryWord::of({1024 * kFourGi, 0}));
  EXPECT_EQ(limits.memory().value, (MemoryAmount{kFourGi, 100}));
  limits.say(LimitSource::annotation, MemoryWord::of({0, 50}));
  EXPECT_EQ(limits.memory(),
            (EffectiveLimit<MemoryAmount>{MemoryAmount{kFourGi, 50}, LimitSource::annotation}));
}

}  // namespace
}  // namespace nvs::daemon
