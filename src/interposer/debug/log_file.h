// SPDX-License-Identifier: Apache-2.0
// Finding a file for the debug log: the one that the user named, or a new one in /tmp that nobody
// else can have prepared.
#pragma once

#include "interposer/debug/text.h"

namespace nvs::interposer::debug {

inline constexpr std::size_t kPathMax = 4096;

struct LogFile {
  int fd = -1;
  int error = 0;  // an errno, if there is no file
  char path[kPathMax + 1] = {};
};

// `named` may be null or empty. "%p" in it stands for the pid.
void open_log_file(const char* named, int process, LogFile& file);

// What an errno means, in words where a user could mend it.
TextBuffer& append_error(TextBuffer& text, int error);

}  // namespace nvs::interposer::debug
