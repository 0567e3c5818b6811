// SPDX-License-Identifier: Apache-2.0
// Why a daemon's program ends before it has begun: help that was asked for, or what is wrong with
// its command line. Only main prints it.
#pragma once

#include <string>

namespace nvs {

// Part of the interface of the daemons. Programs that pass on others' exit codes have their own.
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;

struct EarlyExit {
  int code = kExitUsage;
  std::string text;
};

}  // namespace nvs
