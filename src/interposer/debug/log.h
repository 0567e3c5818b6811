// SPDX-License-Identifier: Apache-2.0
// What NVSHARE_DEBUG=1 shows: one line on stderr at the start and one at the end, everything else
// in a file. Nothing is opened or written without it. A forked child writes nothing at all: it has
// no CUDA, and the log is its parent's.
#pragma once

#include <cstdint>

#include "interposer/debug/text.h"

namespace nvs::interposer::debug {

// Lines longer than this are cut; a table of one owner is one text.
inline constexpr std::size_t kTextMax = 2048;
// Names that the log tells apart; there is one line for all further ones.
inline constexpr std::size_t kUnknownNamesMax = 128;

// Called once. `file` is where the log is appended, with "%p" standing for the pid; null or empty:
// a new file /tmp/nvshare-<pid>.log. If no file can be had, the line on stderr says why.
void start(const char* file);
bool enabled();

// In the child of a fork.
void stop_in_child();

// Begins a line of the log, with the pid: several processes may append to one file.
TextBuffer& begin_line(TextBuffer& text);
// Appends whole lines to the file, in one write.
void write_log(const TextBuffer& lines);

// A name that was asked of cuGetProcAddress and is in no table of ours. Each is logged once.
void note_unknown_name(const char* name);

// The line on stderr at the end; afterwards the log is off.
void finish(std::uint64_t bytes_peak, std::uint64_t allocations);

}  // namespace nvs::interposer::debug
