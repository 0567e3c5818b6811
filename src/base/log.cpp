// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <optional>
#include <utility>

#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log_text.h"

namespace nvs {
namespace {

struct LogSettings {
  std::mutex lock;  // of all that follows
  LogLevels levels;
  LogStyle style = LogStyle::plain;
  int fd = 2;
  std::uint64_t lost = 0;  // lines since the last one that was written
};
LogSettings& settings() {
  static LogSettings the_settings;
  return the_settings;
}

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> kLevels = {"error", "warning", "info", "debug"};
constexpr std::array<std::string_view, 4> kJournalPrefixes = {"<3>", "<4>", "<6>", "<7>"};
constexpr std::string_view kCut = "…";
constexpr std::string_view kLineCut = " cut=true";

std::optional<Level> parse_level(std::string_view word) {
  for (std::size_t index = 0; index < kLevels.size(); ++index)
    if (kLevels[index] == word) return static_cast<Level>(index);
  return std::nullopt;
}

bool is_module(std::string_view word) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789_";
  return !word.empty() && word.find_first_not_of(kAllowed) == std::string_view::npos;
}

// src/daemon/sessions.cpp: sessions
std::string_view module_of(std::string_view file) {
  file.remove_prefix(std::min(file.rfind('/') + 1, file.size()));
  return file.substr(0, file.find('.'));
}

std::string hex(std::uint32_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (std::size_t place = digits; place-- > 0; number >>= 4U)
    text[place] = "0123456789abcdef"[number & 15U];
  return text;
}

std::string escaped(const Character& character) {
  if (!character.point) return "\\x" + hex(static_cast<unsigned char>(character.bytes[0]), 2);
  switch (*character.point) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      break;
  }
  if (is_control(*character.point)) return "\\u" + hex(*character.point, 4);
  return std::string(character.bytes);
}

bool is_plain(std::string_view text) {
  for (const char character : text)
    if (character <= ' ' || character > '~' || character == '"' || character == '=' ||
        character == '\\')
      return false;
  return !text.empty();
}

std::string quoted_text(std::string_view text) {
  if (text.size() <= kLogValueMax && is_plain(text)) return std::string(text);
  std::string out = "\"";
  while (!text.empty()) {
    const Character character = first_character(text);
    text.remove_prefix(character.bytes.size());
    std::string piece = escaped(character);
    if (out.size() + piece.size() > kLogValueMax) {
      out += kCut;
      break;
    }
    out += piece;
  }
  return out + '"';
}

std::string wall_time() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  ::gmtime_r(&now.tv_sec, &parts);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03ldZ",
                parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min,
                parts.tm_sec, now.tv_nsec / 1'000'000);
  return text.data();
}

std::string finished_line(Level level, std::string_view module, std::string_view message,
                          const Fields& fields) {
  const bool is_plain_style = settings().style == LogStyle::plain;
  std::string line =
      is_plain_style ? std::string() : std::string(kJournalPrefixes.at(static_cast<size_t>(level)));
  return line + log_line(level, is_plain_style ? wall_time() : "", module, message, fields) + '\n';
}

// False: the line is lost. Whoever reads the log may have stopped, and tenants' windows do not wait
// for them. A pipe that is ready takes a whole line, since that is no longer than PIPE_BUF.
bool write_at_once(const std::string& line) {
  pollfd out{.fd = settings().fd, .events = POLLOUT, .revents = 0};
  if (::poll(&out, 1, 0) != 1) return false;
  ssize_t written = -1;
  do {
    written = ::write(settings().fd, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  return written >= 0;
}

}  // namespace

Level LogLevels::of(std::string_view module) const {
  const auto found = modules.find(module);
  return found != modules.end() ? found->second : general;
}

tl::expected<LogLevels, std::string> parse_log_levels(std::string_view text, LogLevels before) {
  LogLevels levels = std::move(before);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t colon = item.rfind(':');
    const bool has_module = colon != std::string_view::npos;
    const std::optional<Level> level = parse_level(has_module ? item.substr(colon + 1) : item);
    const std::string_view module = has_module ? item.substr(0, colon) : std::string_view();
    if (!level || (has_module && !is_module(module)))
      return tl::unexpected("log level " + quoted_text(item) +
                            " is not LEVEL or MODULE:LEVEL with LEVEL one of error, warning, info,"
                            " debug");
    if (has_module)
      levels.modules[std::string(module)] = *level;
    else
      levels.general = *level;
  }
  return levels;
}

LogStyle log_style(int fd, const char* journal_stream) {
  if (journal_stream == nullptr) return LogStyle::plain;
  struct stat file {};
  if (::fstat(fd, &file) != 0) return LogStyle::plain;
  // A program started by the service inherits the variable, perhaps with another standard error.
  const std::string here = std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
  return here == journal_stream ? LogStyle::journal : LogStyle::plain;
}

void start_log(LogLevels levels, LogStyle style, int fd) {
  LogSettings& now = settings();
  const std::lock_guard<std::mutex> guard(now.lock);
  now.levels = std::move(levels);
  now.style = style;
  now.fd = fd;
  now.lost = 0;
}

bool log_enabled(Level level, const char* file) {
  const std::lock_guard<std::mutex> guard(settings().lock);
  return level <= settings().levels.of(module_of(file));
}

void log(Level level, std::string_view message, const Fields& fields, const char* file) {
  const std::lock_guard<std::mutex> guard(settings().lock);
  if (level > settings().levels.of(module_of(file))) return;
  std::uint64_t& lost = settings().lost;
  if (lost > 0) {
    const std::string note =
        finished_line(Level::warning, "log", "lines were lost: nobody read", {{"lines", lost}});
    if (write_at_once(note)) lost = 0;
  }
  if (lost > 0 || !write_at_once(finished_line(level, module_of(file), message, fields))) ++lost;
}

std::string log_line(Level level, std::string_view time, std::string_view module,
                     std::string_view message, const Fields& fields) {
  std::string line;
  if (!time.empty()) line.append("time=").append(time).append(" ");
  line.append("level=").append(kLevels.at(static_cast<std::size_t>(level)));
  line.append(" module=").append(module).append(" msg=").append(quoted_text(message));
  // Room for a journal prefix, the note that fields are missing, and the line's end.
  constexpr std::size_t kRoom = kLogLineMax - kLineCut.size() - 8;
  for (const Field& field : fields) {
    std::string piece = " " + std::string(field.key) + "=" + quoted_text(field.value);
    if (line.size() + piece.size() > kRoom) return line.append(kLineCut);
    line += piece;
  }
  return line;
}

}  // namespace nvs
