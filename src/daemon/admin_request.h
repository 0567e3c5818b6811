// SPDX-License-Identifier: Apache-2.0
// Why an administrator's request is not done, in a word for programs and a sentence for people.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>
#include <tl/expected.hpp>

namespace nvs::daemon {

enum class RefusalCode : std::uint8_t { not_found, invalid, denied };

struct Refusal {
  RefusalCode code = RefusalCode::invalid;
  std::string text;
};

// The answer that says so, without its line end.
std::string refusal_text(const Refusal& refusal);

// What was asked for, once it is known to be possible.
template <class T>
using Checked = tl::expected<T, Refusal>;

inline tl::unexpected<Refusal> invalid(std::string text) {
  return tl::unexpected(Refusal{RefusalCode::invalid, std::move(text)});
}
inline tl::unexpected<Refusal> not_found(std::string text) {
  return tl::unexpected(Refusal{RefusalCode::not_found, std::move(text)});
}

// What the request said, short enough to be read. Lists and objects are not written out: they may
// be nested deeper than the stack is.
std::string echo(const nlohmann::json& value);

}  // namespace nvs::daemon
