// SPDX-License-Identifier: Apache-2.0
// One mapping of a settings file, read strictly: whatever is not known, said twice or of the wrong
// type is an error that names the file, the line and what would have been right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "device_plugin/config.h"

namespace nvs::plugin {

class YamlSection {
 public:
  // `name` is where it stands, such as "sharing.timeSlicing"; empty for the whole file.
  static Parsed<YamlSection> read(const std::string& file, const YAML::Node& node,
                                  const std::string& name, std::vector<std::string> known);

  // Its value; an undefined node where it is not there or null, which is the same.
  YAML::Node value(const std::string& key) const;
  bool has(const std::string& key) const { return value(key).IsDefined(); }

  Parsed<std::optional<std::string>> text(const std::string& key) const;
  Parsed<std::optional<bool>> flag(const std::string& key) const;
  Parsed<std::optional<std::int64_t>> whole_number(const std::string& key, std::int64_t least,
                                                   std::int64_t most) const;
  Parsed<std::optional<double>> number(const std::string& key, double least, double most) const;
  // A text, or a list of texts.
  Parsed<std::vector<std::string>> texts(const std::string& key) const;

  // "FILE:LINE: KEY reason", for the line of that key, or of the section.
  std::string complaint(const std::string& key, const std::string& reason) const;
  std::string complaint(const std::string& reason) const;
  // The name of a key from the top of the file on.
  std::string path(const std::string& key) const;

 private:
  YamlSection(std::string file, YAML::Node node, std::string name)
      : file_(std::move(file)), node_(std::move(node)), name_(std::move(name)) {}

  std::string file_;
  YAML::Node node_;
  std::string name_;
};

// "FILE:LINE: reason".
std::string yaml_complaint(const std::string& file, const YAML::Mark& mark,
                           const std::string& reason);

}  // namespace nvs::plugin
