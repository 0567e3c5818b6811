// SPDX-License-Identifier: Apache-2.0
// The two kinds of settings files: NVIDIA's, so that nobody has to write theirs anew, and our own.
#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "device_plugin/config.h"
#include "device_plugin/yaml_section.h"

namespace nvs::plugin {

// The `version` of our own kind.
inline constexpr const char* kOwnConfigVersion = "nvshare/v1";

Parsed<Config> parse_own_config(const YAML::Node& root, const std::string& file);
Parsed<Config> parse_nvidia_config(const YAML::Node& root, const std::string& file);

// Keys that both kinds have, under the same names.
Parsed<void> read_device_lists(const YamlSection& section, Config& config);
Parsed<void> read_spread(const YamlSection& section, const std::string& key, Config& config);

}  // namespace nvs::plugin
