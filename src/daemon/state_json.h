// SPDX-License-Identifier: Apache-2.0
// What reading and writing all parts of state.json have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/limit_word.h"
#include "base/result.h"
#include "daemon/status_writer.h"

namespace nvs::daemon {

inline Error broken(const char* what) { return {Errc::kInvalidInput, 0, what}; }

// The member, or null where there is none.
inline const nlohmann::json& member(const nlohmann::json& object, const char* name) {
  static const nlohmann::json kNull;
  const auto found = object.find(name);
  return found != object.end() ? *found : kNull;
}

// A member that need not be there: a text, or a number that is one as well.
template <class Word>
Result<Word> limit_of(const nlohmann::json& saved, std::optional<Word> (*parse)(std::string_view)) {
  if (saved.is_null()) return Word{};
  std::optional<Word> word;
  if (saved.is_string()) word = parse(saved.get_ref<const std::string&>());
  if (saved.is_number_unsigned()) word = parse(std::to_string(saved.get<std::uint64_t>()));
  if (!word) return tl::unexpected(broken("a limit is not understood"));
  return *word;
}

inline void write_limit_words(JsonWriter& out, const MemoryWord& memory, const CoresWord& cores) {
  if (!memory.is_unset()) out.key("memory").text(word_text(memory));
  if (cores.kind == CoresWord::Kind::none) out.key("cores").text("none");
  if (cores.kind == CoresWord::Kind::set) out.key("cores").number(cores.value);
}

}  // namespace nvs::daemon
