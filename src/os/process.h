// SPDX-License-Identifier: Apache-2.0
// What a long-running program asks of the system for itself: to be the only one of its kind, to run
// soon after it is woken, to have as many descriptors as it may.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::os {

// A lock that lasts as long as the descriptor, and no longer than the process. The file stays.
// Error EWOULDBLOCK: another process has it.
Result<UniqueFd> lock_file(const std::string& path);

// A folder with exactly these permissions; one that is there already keeps its own.
Result<void> make_folder(const std::string& path, mode_t mode);

// Raises the limit to what is allowed, and says what it is now.
Result<std::uint64_t> raise_open_files();

// The same file under a high number, if there is one. When a process is killed, Linux lets go of
// its files from the highest number down, one after the other, and gigabytes of memory take a
// second: who waits for the end of a connection hears of it first.
UniqueFd move_up(UniqueFd fd);

// Negative is more urgent, and takes a privilege.
Result<void> set_niceness(int niceness);
int niceness();

}  // namespace nvs::os
