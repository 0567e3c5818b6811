// SPDX-License-Identifier: Apache-2.0
// The command line of nvsharectl, checked as far as that is possible without asking the daemon.
#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/early_exit.h"

namespace nvs::cli {

enum class OutputFormat { table, json };

struct CtlOptions {
  std::string folder;   // --folder; empty: look for a daemon
  std::string command;  // the name of the subcommand; a row of the table in main.cpp
  OutputFormat format = OutputFormat::table;
  std::string setting;  // of `set`: mode, turn, window, priority, memory or cores
  std::string value;    // of `set`, in its normal form
  std::vector<std::string> gpus = {"all"};
  std::string tenant;
  std::string file = "nvshare-trace.json";
  double seconds = 10;
  std::string words;  // of `completion`: a shell, or what to list
};

Outcome<CtlOptions> parse_ctl_options(const Arguments& arguments);

}  // namespace nvs::cli
