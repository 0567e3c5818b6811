// SPDX-License-Identifier: Apache-2.0
#include "base/limit_word.h"

namespace nvs {
namespace {

template <class Value>
std::optional<LimitWord<Value>> parse_word(std::string_view text,
                                           std::optional<Value> (*parse)(std::string_view)) {
  if (text == "none") return LimitWord<Value>::none();
  if (text == "default") return LimitWord<Value>{};
  const auto value = parse(text);
  if (!value) return std::nullopt;
  return LimitWord<Value>::of(*value);
}

}  // namespace

std::optional<MemoryWord> parse_memory_word(std::string_view text) {
  return parse_word<MemoryAmount>(text, parse_memory);
}
std::optional<CoresWord> parse_cores_word(std::string_view text) {
  return parse_word<std::uint32_t>(text, parse_cores);
}

std::string word_text(const MemoryWord& word) {
  if (word.is_unset()) return "default";
  return word.kind == MemoryWord::Kind::none ? "none" : text_of(word.value);
}
std::string word_text(const CoresWord& word) {
  if (word.is_unset()) return "default";
  return word.kind == CoresWord::Kind::none ? "none" : std::to_string(word.value);
}

}  // namespace nvs
