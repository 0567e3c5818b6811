// SPDX-License-Identifier: Apache-2.0
#include "base/log_text.h"

#include <cstddef>

namespace nvs {

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<std::uint8_t>(text[index]); };
  const Character broken{text.substr(0, 1), std::nullopt};
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {text.substr(0, 1), lead};

  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return broken;
  std::uint32_t point = lead & (0xffU >> (length + 1));
  for (std::size_t index = 1; index < length; ++index) {
    if ((byte(index) & 0xc0U) != 0x80) return broken;
    point = (point << 6U) | (byte(index) & 0x3fU);
  }
  const bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
  const bool is_too_long = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000);
  if (is_surrogate || is_too_long || point > 0x10ffff) return broken;
  return {text.substr(0, length), point};
}

bool is_control(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7f && point < 0xa0) ||  // C0, delete, C1
         (point >= 0x200b && point <= 0x200f) ||             // widths of zero, direction marks
         (point >= 0x2028 && point <= 0x202e) ||             // line ends, directions
         (point >= 0x2060 && point <= 0x206f) || point == 0x061c || point == 0xfeff;
}

}  // namespace nvs
