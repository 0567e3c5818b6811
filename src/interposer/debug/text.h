// SPDX-License-Identifier: Apache-2.0
// Text for the debug log, put together in a fixed buffer: no malloc, no stdio, no locale. What does
// not fit is left out, and the text says so.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nvs::interposer::debug {

class TextBuffer {
 public:
  TextBuffer(const TextBuffer&) = delete;
  TextBuffer& operator=(const TextBuffer&) = delete;

  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool truncated() const { return truncated_; }
  void clear() {
    size_ = 0;
    line_ = 0;
    truncated_ = false;
  }

  TextBuffer& append(char character);
  TextBuffer& append(const char* text);
  // Text from outside: what is not printable becomes a question mark, and there is a largest
  // length.
  TextBuffer& printable(const char* text, std::size_t length_max);
  TextBuffer& number(std::uint64_t value, std::size_t width = 0);  // right-aligned in `width`
  TextBuffer& signed_number(std::int64_t value);
  TextBuffer& hex(std::uint64_t value);  // 0x...
  // Spaces up to a column of this line; one at least, so that columns never touch.
  TextBuffer& column(std::size_t place);

 protected:
  TextBuffer(char* data, std::size_t capacity) : data_(data), capacity_(capacity) {}
  ~TextBuffer() = default;

 private:
  char* data_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t line_ = 0;  // where the current line begins
  bool truncated_ = false;
};

// A text of at most N characters. It is followed by a zero, for calls that want one.
template <std::size_t N>
class Text : public TextBuffer {
 public:
  Text() : TextBuffer(storage_, N) {}

  const char* c_str() {
    storage_[size()] = '\0';
    return storage_;
  }

 private:
  char storage_[N + 1];
};

}  // namespace nvs::interposer::debug
