// SPDX-License-Identifier: Apache-2.0
// The program whose calls are counted and timed, bare and with the library in front: a child of the
// benchmark that is linked to libcuda.so.1 as most programs are not, but some are. What it does
// between its marks is the same in both runs, to the instruction.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/child.h"

namespace nvs::bench {

// `count` says first {"subjects": [{"what", "hooked"}...]}. When it is traced and told to go on it
// calls each of them some times to warm up, then `kCountedCalls` times between two marks.
inline constexpr const char* kCountRole = "count";
inline constexpr int kCountedCalls = 3;
void run_count(ParentLink& parent, const nlohmann::json& config);

// `rate` answers {"rate": of this action} to each {"action", "hooked", "window_s"}. It runs with
// the library, and calls the driver through the hooks or past them.
inline constexpr const char* kRateRole = "rate";
inline constexpr const char* kLaunches = "launches";
inline constexpr const char* kLaunchAndWait = "launch and wait";
inline constexpr const char* kAllocations = "allocations";
inline constexpr const char* kQueries = "queries";
void run_rates(ParentLink& parent, const nlohmann::json& config);

}  // namespace nvs::bench
