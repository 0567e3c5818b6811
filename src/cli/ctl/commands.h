// SPDX-License-Identifier: Apache-2.0
// The subcommands of nvsharectl, each a file of its own.
#pragma once

#include "cli/ctl/options.h"
#include "cli/early_exit.h"

namespace nvs::cli {

EarlyExit status_command(const CtlOptions& options);
EarlyExit top_command(const CtlOptions& options);
EarlyExit set_command(const CtlOptions& options);
EarlyExit pause_command(const CtlOptions& options);  // and resume
EarlyExit trace_command(const CtlOptions& options);
EarlyExit completion_command(const CtlOptions& options);

}  // namespace nvs::cli
