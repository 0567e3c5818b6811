// SPDX-License-Identifier: Apache-2.0
// The daemon's timeline as a file that trace viewers read: Chrome's JSON format, in which a GPU is
// a process and a tenant a thread of it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/early_exit.h"

namespace nvs::cli {

struct TraceFile {
  std::string text;
  std::size_t intervals = 0;
  double seconds = 0;   // from the first to the last of them
  bool is_cut = false;  // the daemon had more, older ones
};

// `answer` is what the daemon says to `trace`.
Outcome<TraceFile> make_trace_file(std::string_view answer);

}  // namespace nvs::cli
