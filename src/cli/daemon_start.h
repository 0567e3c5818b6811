// SPDX-License-Identifier: Apache-2.0
// Starts a daemon for one user, so that sharing a GPU needs no installation: detached from the
// terminal and from everything the caller has open, in a folder that nobody else can touch.
#pragma once

#include <optional>
#include <string>

#include "cli/early_exit.h"

namespace nvs::cli {

inline constexpr const char* kDaemonName = "nvshare-scheduler";
inline constexpr const char* kDaemonLog = "scheduler.log";

// Beside this program, else as a shell finds it.
Outcome<std::string> find_daemon(const std::string& program_folder,
                                 const std::optional<std::string>& search_path);

// Refuses a folder that others could have prepared.
Outcome<void> check_folder(const std::string& folder);
// Makes the folder if need be (mode 0700), and checks it.
Outcome<void> prepare_folder(const std::string& folder);

// Returns when the daemon accepts connections. Started twice at once for one folder, one of the two
// ends by itself and both calls succeed.
Outcome<void> start_daemon(const std::string& program, const std::string& folder);

// The last lines of a text, each indented, for messages.
std::string last_lines(const std::string& text, std::size_t lines_max);

}  // namespace nvs::cli
