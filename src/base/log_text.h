// SPDX-License-Identifier: Apache-2.0
// Reading text that may be anything: what is UTF-8 and harmless on a terminal, and what is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nvs {

struct Character {
  std::string_view bytes;              // never empty
  std::optional<std::uint32_t> point;  // nothing: a byte that is not UTF-8
};

// The first character of a text that is not empty.
Character first_character(std::string_view text);

// It moves the cursor, ends the line, or turns the direction of writing.
bool is_control(std::uint32_t point);

}  // namespace nvs
