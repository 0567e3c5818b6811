// SPDX-License-Identifier: Apache-2.0
#include "daemon/status_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/log_text.h"

namespace nvs::daemon {
namespace {

bool is_plain_json(char character) {
  return character >= ' ' && character <= '~' && character != '"' && character != '\\';
}

}  // namespace

void JsonWriter::separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::begin(char bracket) {
  separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view value) {
  separate();
  quote(value);
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return raw(std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data())));
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

void JsonWriter::quote(std::string_view value) {
  out_ += '"';
  while (true) {
    // Nearly everything is plain, and is copied in one go.
    const auto* end = std::find_if_not(value.begin(), value.end(), is_plain_json);
    out_.append(value.begin(), end);
    value.remove_prefix(static_cast<std::size_t>(end - value.begin()));
    if (value.empty()) break;
    const Character character = first_character(value);
    value.remove_prefix(character.bytes.size());
    const std::uint32_t point = character.point.value_or(0xfffd);
    if (!character.point) {
      out_ += "\ufffd";
    } else if (point == '"' || point == '\\') {
      out_ += '\\';
      out_ += static_cast<char>(point);
    } else if (point < 0x10000 && is_control(point)) {
      // JSON asks for it below 0x20; the others would do harm on the terminal of who reads it.
      out_ += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4)
        out_ += "0123456789abcdef"[(point >> static_cast<unsigned>(shift)) & 15U];
    } else {
      out_ += character.bytes;
    }
  }
  out_ += '"';
}

}  // namespace nvs::daemon
