// SPDX-License-Identifier: Apache-2.0
// What administrators and annotations say of a limit: a value, that there is none, or nothing. One
// reading of it for all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_size.h"

namespace nvs {

// What a source says of one kind of limit.
template <class Value>
struct LimitWord {
  enum class Kind : std::uint8_t {
    unset,  // nothing: the next source counts
    none,   // that there is no limit, whatever weaker sources say
    set,
  };
  Kind kind = Kind::unset;
  Value value = {};

  static LimitWord none() { return {Kind::none, {}}; }
  static LimitWord of(Value value) { return {Kind::set, value}; }
  bool is_unset() const { return kind == Kind::unset; }
  bool operator==(const LimitWord&) const = default;
};
using MemoryWord = LimitWord<MemoryAmount>;
using CoresWord = LimitWord<std::uint32_t>;  // percent of one GPU

// "4Gi" or "40", "none", and "default" for unset. Nothing if it is something else.
std::optional<MemoryWord> parse_memory_word(std::string_view text);
std::optional<CoresWord> parse_cores_word(std::string_view text);
std::string word_text(const MemoryWord& word);
std::string word_text(const CoresWord& word);

// What messages about wrong ones tell people to write.
inline constexpr const char* kMemoryWordForms =
    "a size such as 4Gi, 4096Mi, 4G, 512MiB or 25%, nor none or default";
inline constexpr const char* kCoresWordForms = "a number from 1 to 100, none or default";

}  // namespace nvs
