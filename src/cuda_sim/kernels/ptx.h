// SPDX-License-Identifier: Apache-2.0
// What a module's PTX text declares: its kernels with their parameters, and its global variables.
// The instructions are not read; a kernel is run by the built-in of the same name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nvs::sim {

struct PtxParameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

struct PtxEntry {
  std::string name;
  std::vector<PtxParameter> parameters;
  std::uint32_t parameter_bytes = 0;
};

struct PtxModule {
  std::vector<PtxEntry> entries;
};

std::string without_comments(std::string_view text);
/// None if the text is no PTX module.
std::optional<PtxModule> parse_ptx(std::string_view text);

}  // namespace nvs::sim
