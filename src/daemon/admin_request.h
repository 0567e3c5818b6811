// SPDX-License-Identifier: Apache-2.0
// Why an administrator's request is not done, in a word for programs and a sentence for people.
#pragma once

#include <cstdint>
#include <string>

namespace nvs::daemon {

enum class RefusalCode : std::uint8_t { not_found, invalid, denied };

struct Refusal {
  RefusalCode code = RefusalCode::invalid;
  std::string text;
};

// The answer that says so, without its line end.
std::string refusal_text(const Refusal& refusal);

}  // namespace nvs::daemon
