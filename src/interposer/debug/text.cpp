// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/text.h"

namespace nvs::interposer::debug {
namespace {

constexpr std::size_t kDigitsMax = 20;  // of 64 bits

// Writes the digits backwards from `end`, and returns where they begin.
char* write_digits(char* end, std::uint64_t value, unsigned base) {
  do {
    *--end = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  return end;
}

}  // namespace

TextBuffer& TextBuffer::append(char character) {
  if (size_ == capacity_) {
    truncated_ = true;
    return *this;
  }
  data_[size_++] = character;
  if (character == '\n') line_ = size_;
  return *this;
}

TextBuffer& TextBuffer::append(const char* text) {
  for (; *text != '\0' && !truncated_; ++text) append(*text);
  return *this;
}

TextBuffer& TextBuffer::printable(const char* text, std::size_t length_max) {
  for (std::size_t i = 0; i < length_max && text[i] != '\0'; ++i) {
    append(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
  }
  return *this;
}

TextBuffer& TextBuffer::number(std::uint64_t value, std::size_t width) {
  char digits[kDigitsMax + 1];
  digits[kDigitsMax] = '\0';
  const char* begin = write_digits(digits + kDigitsMax, value, 10);
  for (auto length = static_cast<std::size_t>(digits + kDigitsMax - begin); length < width;
       ++length) {
    append(' ');
  }
  return append(begin);
}

TextBuffer& TextBuffer::signed_number(std::int64_t value) {
  if (value >= 0) return number(static_cast<std::uint64_t>(value));
  return append('-').number(-static_cast<std::uint64_t>(value));
}

TextBuffer& TextBuffer::hex(std::uint64_t value) {
  char digits[kDigitsMax + 1];
  digits[kDigitsMax] = '\0';
  return append("0x").append(write_digits(digits + kDigitsMax, value, 16));
}

TextBuffer& TextBuffer::column(std::size_t place) {
  do {
    append(' ');
  } while (size_ - line_ < place && !truncated_);
  return *this;
}

}  // namespace nvs::interposer::debug
