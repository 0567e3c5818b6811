// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/yaml_section.h"

#include <algorithm>
#include <set>

#include "device_plugin/resource_name.h"

namespace nvs::plugin {
namespace {

std::string unknown_key(const std::string& key, const std::vector<std::string>& known) {
  const std::string nearest = nearest_word(key, known);
  if (!nearest.empty()) return "is not known; did you mean '" + nearest + "'?";
  std::string all;
  for (const std::string& word : known) all += (all.empty() ? "" : ", ") + word;
  return "is not known; there are: " + all;
}

std::string shortest(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

std::string yaml_complaint(const std::string& file, const YAML::Mark& mark,
                           const std::string& reason) {
  // A null mark has the line -1: it is about the whole file.
  return file + ":" + std::to_string(std::max(mark.line, 0) + 1) + ": " + reason;
}

Parsed<YamlSection> YamlSection::read(const std::string& file, const YAML::Node& node,
                                      const std::string& name, std::vector<std::string> known) {
  YamlSection section(file, node, name);
  if (!node.IsMap()) {
    return tl::unexpected(section.complaint("is no mapping of keys to values"));
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const auto wrong = [&](const std::string& reason) {
      return tl::unexpected(
          yaml_complaint(file, entry.first.Mark(), section.path(key) + " " + reason));
    };
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return wrong(unknown_key(key, known));
    }
    if (!seen.insert(key).second) return wrong("is there twice");
  }
  return section;
}

YAML::Node YamlSection::value(const std::string& key) const {
  const YAML::Node found = node_[key];
  if (found.IsDefined() && found.IsNull()) return YAML::Node(YAML::NodeType::Undefined);
  return found;
}

std::string YamlSection::path(const std::string& key) const {
  return name_.empty() ? key : name_ + "." + key;
}

std::string YamlSection::complaint(const std::string& key, const std::string& reason) const {
  const YAML::Node found = node_[key];
  return yaml_complaint(file_, found.IsDefined() ? found.Mark() : node_.Mark(),
                        path(key) + " " + reason);
}

std::string YamlSection::complaint(const std::string& reason) const {
  return yaml_complaint(file_, node_.Mark(), name_.empty() ? "it " + reason : name_ + " " + reason);
}

Parsed<std::optional<std::string>> YamlSection::text(const std::string& key) const {
  const YAML::Node node = value(key);
  if (!node.IsDefined()) return std::optional<std::string>{};
  if (!node.IsScalar()) return tl::unexpected(complaint(key, "is no text"));
  return node.Scalar();
}

Parsed<std::optional<bool>> YamlSection::flag(const std::string& key) const {
  const YAML::Node node = value(key);
  if (!node.IsDefined()) return std::optional<bool>{};
  bool is_true = false;
  if (!node.IsScalar() || !YAML::convert<bool>::decode(node, is_true)) {
    return tl::unexpected(complaint(key, "is neither true nor false"));
  }
  return is_true;
}

Parsed<std::optional<std::int64_t>> YamlSection::whole_number(const std::string& key,
                                                              std::int64_t least,
                                                              std::int64_t most) const {
  const YAML::Node node = value(key);
  if (!node.IsDefined()) return std::optional<std::int64_t>{};
  std::int64_t value = 0;
  const bool is_number = node.IsScalar() && YAML::convert<std::int64_t>::decode(node, value);
  if (!is_number || value < least || value > most) {
    return tl::unexpected(complaint(key, "must be a whole number from " + std::to_string(least) +
                                             " to " + std::to_string(most)));
  }
  return value;
}

Parsed<std::optional<double>> YamlSection::number(const std::string& key, double least,
                                                  double most) const {
  const YAML::Node node = value(key);
  if (!node.IsDefined()) return std::optional<double>{};
  double value = 0;
  const bool is_number = node.IsScalar() && YAML::convert<double>::decode(node, value);
  if (!is_number || !(value >= least && value <= most)) {
    return tl::unexpected(
        complaint(key, "must be a number from " + shortest(least) + " to " + shortest(most)));
  }
  return value;
}

Parsed<std::vector<std::string>> YamlSection::texts(const std::string& key) const {
  const YAML::Node node = value(key);
  if (!node.IsDefined()) return std::vector<std::string>{};
  if (node.IsScalar()) return std::vector<std::string>{node.Scalar()};
  std::vector<std::string> texts;
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) return tl::unexpected(complaint(key, "has an item that is no text"));
      texts.push_back(item.Scalar());
    }
    return texts;
  }
  return tl::unexpected(complaint(key, "is neither a text nor a list of texts"));
}

}  // namespace nvs::plugin
