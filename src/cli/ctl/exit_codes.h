// SPDX-License-Identifier: Apache-2.0
// The exit codes of nvsharectl, which are part of its interface. Unlike `nvshare run` it has no
// program's exit code to pass on, so the small numbers are free.
#pragma once

#include "cli/early_exit.h"

namespace nvs::cli {

inline constexpr int kCtlFailed = 1;  // no daemon, no sense in what it said, or done and not saved
inline constexpr int kCtlUsage = 2;   // the command line
inline constexpr int kCtlRefused =
    3;  // the daemon understood, and will not: not found, not allowed

}  // namespace nvs::cli
