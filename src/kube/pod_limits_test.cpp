// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_limits.h"

#include <gtest/gtest.h>

namespace nvs::kube {
namespace {

Pod annotated_pod(std::map<std::string, std::string> annotations) {
  return {"u-1", "lab", "trainer", std::move(annotations)};
}

TEST(PodLimits, ThoseWhoSayNothingSayNothing) {
  const PodLimits limits = limits_of(annotated_pod({{"nvshare.com/other", "x"}}));
  EXPECT_EQ(limits.memory, MemoryWord{});
  EXPECT_EQ(limits.cores, CoresWord{});
}

TEST(PodLimits, WordsAreThoseOfAdministrators) {
  PodLimits limits = limits_of(annotated_pod(
      {{"nvshare.com/gpu-memory-limit", "4Gi"}, {"nvshare.com/gpu-core-limit", "40%"}}));
  EXPECT_EQ(limits.memory, MemoryWord::of({4ULL << 30U, 0}));
  EXPECT_EQ(limits.cores, CoresWord::of(40));
  limits = limits_of(annotated_pod(
      {{"nvshare.com/gpu-memory-limit", "25%"}, {"nvshare.com/gpu-core-limit", "none"}}));
  EXPECT_EQ(limits.memory, MemoryWord::of({0, 25}));
  EXPECT_EQ(limits.cores, CoresWord::none());
}

TEST(PodLimits, AWrongOneIsSaidAndTheOtherCounts) {
  const PodLimits limits = limits_of(annotated_pod(
      {{"nvshare.com/gpu-memory-limit", "lots"}, {"nvshare.com/gpu-core-limit", "30"}}));
  EXPECT_EQ(limits.memory.error(),
            "the annotation nvshare.com/gpu-memory-limit of pod lab/trainer is 'lots', not a size "
            "such as 4Gi, 4096Mi, 4G, 512MiB or 25%, nor none or default");
  EXPECT_EQ(limits.cores, CoresWord::of(30));
  EXPECT_EQ(limits_of(annotated_pod({{"nvshare.com/gpu-core-limit", "101"}})).cores.error(),
            "the annotation nvshare.com/gpu-core-limit of pod lab/trainer is '101', not a number "
            "from 1 to 100, none or default");
}

TEST(PodLimits, WhatIsShownOfAValueIsOneShortLine) {
  const std::string value = "\x1b[31m\n" + std::string(1000, 'x');
  const std::string text =
      limits_of(annotated_pod({{"nvshare.com/gpu-core-limit", value}})).cores.error();
  EXPECT_LT(text.size(), 300U);
  EXPECT_EQ(text.find_first_of("\x1b\n"), std::string::npos);
}

}  // namespace
}  // namespace nvs::kube
