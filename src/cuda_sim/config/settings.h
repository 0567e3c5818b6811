// SPDX-License-Identifier: Apache-2.0
// Which simulated machine this process belongs to and how it behaves: the NVSHARE_SIM_*
// environment, checked, as a struct. The rows are in spec/sim_settings.def.
#pragma once

#include <string>

#include <tl/expected.hpp>

namespace nvs::sim {

namespace setting_type {
using text = std::string;
using count = unsigned;
using factor = double;
}  // namespace setting_type

struct Settings {
#define NVS_SIM_SETTING(variable, type, fallback, help) setting_type::type variable = fallback;
#include "spec/sim_settings.def"
#undef NVS_SIM_SETTING
};

/// Reads the environment. The error says which variable is wrong, why, and what would be right.
tl::expected<Settings, std::string> read_settings();

}  // namespace nvs::sim
