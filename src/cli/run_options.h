// SPDX-License-Identifier: Apache-2.0
// The command line of `nvshare run`: where our options end and the user's command begins. Of that,
// not a byte is changed.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/early_exit.h"

namespace nvs::cli {

struct RunOptions {
  Arguments command;  // never empty
  bool debug = false;
  bool disable = false;
  std::string debug_file;  // empty: none
  std::string library;     // empty: none was named
  std::string priority;    // empty: none was asked for
  std::string memory;      // limits, as they are written; empty: none was asked for
  std::string cores;
  bool no_daemon = false;
};

// One of low, normal and high.
bool is_priority(std::string_view word);

Outcome<RunOptions> parse_run_options(const Arguments& arguments);

}  // namespace nvs::cli
