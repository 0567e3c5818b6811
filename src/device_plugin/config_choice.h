// SPDX-License-Identifier: Apache-2.0
// Which settings file counts on this node: one file for all, or one of a folder of them (the mount
// of a ConfigMap) that the node's label or a flag names.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device_plugin/config.h"

namespace nvs::plugin {

// Where to look; empty where nothing was said.
struct ConfigPlaces {
  std::string file;           // --config-file
  std::string folder;         // --config-folder
  std::string name;           // --config: one of the folder, whatever the label says
  std::string label_file;     // --config-label-file: holds the value of the node's label
  std::string fallback = {};  // --default-config: where there is no label
};

// The whole of a file, or nothing if it is not there. Files are handed in so that tests need none.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

struct ChosenConfig {
  std::string file;  // empty: no file, the settings are the defaults
  std::string text;
  bool operator==(const ChosenConfig&) const = default;
};

// The error is a sentence that says who named what is not there.
Parsed<ChosenConfig> choose_config(const ConfigPlaces& places, const ReadFile& read);

}  // namespace nvs::plugin
