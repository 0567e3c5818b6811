// SPDX-License-Identifier: Apache-2.0
// How a test and its processes tell each other how far they are: short texts over a socket, each
// with a file descriptor if need be. A line whose other end is dead or silent for too long answers
// with nothing, so that a failing test ends instead of hanging.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace nvs::sim_test {

struct Message {
  std::string text;  // empty: nobody is there
  UniqueFd fd;
};

class Line {
 public:
  Line() = default;
  /// The two ends of a new line.
  static std::pair<Line, Line> make();

  /// False when the other end is gone.
  bool tell(std::string_view text, int fd = -1) { return send(text, fd, 0); }
  Message hear();
  /// The same without waiting: false when there is no room, nothing when there is no message.
  bool try_tell(std::string_view text, int fd = -1);
  Message try_hear() { return receive(); }
  /// Throws unless the next message is `text`.
  void expect(std::string_view text);

  /// Plain values as messages.
  template <class T>
  bool tell_value(const T& value) {
    return tell({reinterpret_cast<const char*>(&value), sizeof value});
  }
  template <class T>
  T hear_value() {
    T value{};
    const std::string text = hear().text;
    check_size(text, sizeof value);
    text.copy(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

  void close() { socket_.reset(); }

 private:
  explicit Line(int fd) : socket_(fd) {}
  bool send(std::string_view text, int fd, int flags);
  Message receive();
  static void check_size(const std::string& text, std::size_t size);

  UniqueFd socket_;
};

}  // namespace nvs::sim_test
