// SPDX-License-Identifier: Apache-2.0
// `nvshare run -- COMMAND`: the part that looks at the machine and becomes the program. What it
// decides is in run_options.h, library.h, target.h and run_plan.h.
#pragma once

#include "cli/commands.h"
#include "cli/early_exit.h"

namespace nvs::cli {

// Returns only if the program was not started.
EarlyExit run_command(const Arguments& arguments);

}  // namespace nvs::cli
