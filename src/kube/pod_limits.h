// SPDX-License-Identifier: Apache-2.0
// What a pod's annotations say of its limits, in the words that administrators use as well.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "base/limit_word.h"
#include "kube/pod.h"

namespace nvs::kube {

inline constexpr const char* kMemoryAnnotation = "nvshare.com/gpu-memory-limit";
inline constexpr const char* kCoresAnnotation = "nvshare.com/gpu-core-limit";

// Each a word, unset where there is no annotation; or what is wrong with it, for the log. Whoever
// mistypes a limit must not lose the one that was in force: then it stays.
struct PodLimits {
  tl::expected<MemoryWord, std::string> memory;
  tl::expected<CoresWord, std::string> cores;
};

PodLimits limits_of(const Pod& pod);

}  // namespace nvs::kube
