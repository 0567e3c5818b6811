// SPDX-License-Identifier: Apache-2.0
// Writes JSON text piece by piece: a status of a thousand tenants or a trace of 200,000 intervals
// must not hold up the schedule, as building a tree of it first would.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "base/instant.h"

namespace nvs::daemon {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end(']'); }

  // In an object, before each value.
  JsonWriter& key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD.
  JsonWriter& text(std::string_view value);
  JsonWriter& number(double value);
  JsonWriter& null() { return raw("null"); }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& number(std::integral auto value) { return raw(std::to_string(value)); }
  // In seconds; a number of seconds that people would write down reads as they wrote it.
  JsonWriter& seconds(Duration span) { return number(static_cast<double>(span.ns()) / 1e9); }
  // Text that is JSON already.
  JsonWriter& raw(std::string_view json);

  std::string take() { return std::move(out_); }

 private:
  JsonWriter& begin(char bracket);
  JsonWriter& end(char bracket);
  void separate();
  void quote(std::string_view value);

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace nvs::daemon
