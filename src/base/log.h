// SPDX-License-Identifier: Apache-2.0
// The log of a long-running program: one line of logfmt for each thing that happened, written at
// once. Values come from others, who may be hostile: whatever they hold, a line stays one line with
// the fields that the program gave it. It never waits: lines that nobody takes are lost, and
// counted. Programs log, libraries return errors. Any thread may.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace nvs {

enum class Level : std::uint8_t { error, warning, info, debug };

// A key is a word of the code; a value is anything.
struct Field {
  std::string_view key;
  std::string value;

  Field(std::string_view name, std::string_view text) : key(name), value(text) {}
  Field(std::string_view name, const char* text) : key(name), value(text) {}
  Field(std::string_view name, const std::string& text) : key(name), value(text) {}
  Field(std::string_view name, std::integral auto number)
      : key(name), value(std::to_string(number)) {}
  Field(std::string_view name, bool is) : key(name), value(is ? "true" : "false") {}
};

using Fields = std::vector<Field>;

// Longer values and lines are cut. A line goes into a pipe in one piece (PIPE_BUF).
inline constexpr std::size_t kLogValueMax = 512;
inline constexpr std::size_t kLogLineMax = 4096;

// What is written: everything up to `general`, but for modules that have a level of their own. A
// module is a source file: sessions.cpp is `sessions`.
struct LogLevels {
  Level general = Level::info;
  std::map<std::string, Level, std::less<>> modules;

  Level of(std::string_view module) const;
};

// "info", "warning,sessions:debug". What is not said keeps its value from `before`. The error is a
// sentence for the user.
tl::expected<LogLevels, std::string> parse_log_levels(std::string_view text, LogLevels before = {});

enum class LogStyle : std::uint8_t {
  plain,    // begins with the time
  journal,  // begins with a priority that journald takes off; it has the time itself
};

// The style for a descriptor: journal if $JOURNAL_STREAM (`journal_stream`, may be null) says that
// it leads there.
LogStyle log_style(int fd, const char* journal_stream);

// To be called once, before the first line. Until then: info, plain, standard error.
void start_log(LogLevels levels, LogStyle style, int fd = 2);

bool log_enabled(Level level, const char* file = __builtin_FILE());
// A line that standard error does not take at once is lost; the next one that it takes comes after
// a line that says how many those were.
void log(Level level, std::string_view message, const Fields& fields = {},
         const char* file = __builtin_FILE());

// The line that log() writes, without its end. `time` is empty in journal style.
std::string log_line(Level level, std::string_view time, std::string_view module,
                     std::string_view message, const Fields& fields);

}  // namespace nvs
