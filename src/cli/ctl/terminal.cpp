// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/ctl/exit_codes.h"

namespace nvs::cli {
namespace {

// The second screen without a cursor, and back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr std::string_view kToTop = "\x1b[H";
constexpr std::string_view kRestOfLine = "\x1b[K";
constexpr std::string_view kRestOfScreen = "\x1b[J";
constexpr std::string_view kPlain = "\x1b[0m";
constexpr std::size_t kSizeMax = 1000;

std::string_view style_text(LineStyle style) {
  switch (style) {
    case LineStyle::title:
      return "\x1b[1m";
    case LineStyle::selected:
      return "\x1b[7m";
    case LineStyle::message:
      return "\x1b[1;33m";
    case LineStyle::plain:
      break;
  }
  return "";
}

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Outcome<std::unique_ptr<Terminal>> Terminal::open() {
  termios before{};
  if (::isatty(STDOUT_FILENO) != 1 || ::tcgetattr(STDIN_FILENO, &before) != 0) {
    return failure("top needs a terminal for its input and output; use: nvsharectl status",
                   kCtlFailed);
  }
  const char* kind = std::getenv("TERM");
  if (kind == nullptr || std::string_view(kind) == "dumb" || *kind == '\0') {
    return failure(
        "top needs a terminal that can move its cursor, and TERM says that this one "
        "cannot; use: nvsharectl status",
        kCtlFailed);
  }
  return std::unique_ptr<Terminal>(new Terminal(before));
}

void Terminal::enter() {
  if (entered_) return;
  termios raw = before_;
  // Keys one by one and without echo. Ctrl-C and Ctrl-Z stay signals, for whoever expects that.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  write_all(kEnter);
  entered_ = true;
}

void Terminal::leave() {
  if (!entered_) return;
  write_all(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  entered_ = false;
}

ScreenSize Terminal::size() const {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_col == 0 || found.ws_row == 0) {
    return {};
  }
  return {std::min<std::size_t>(found.ws_row, kSizeMax),
          std::min<std::size_t>(found.ws_col, kSizeMax)};
}

bool Terminal::draw(const std::vector<ViewLine>& lines) const {
  // One write and no clearing: the picture does not flicker.
  std::string text(kToTop);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) text += "\r\n";
    text += style_text(lines[i].style);
    text += lines[i].text;
    text += kPlain;
    text += kRestOfLine;
  }
  text += kRestOfScreen;
  return write_all(text);
}

bool Terminal::read(std::string& bytes) const {
  std::array<char, 256> buffer;
  const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (count <= 0) return count < 0 && (errno == EINTR || errno == EAGAIN);
  bytes.assign(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

}  // namespace nvs::cli
