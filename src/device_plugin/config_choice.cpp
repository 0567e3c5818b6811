// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/config_choice.h"

namespace nvs::plugin {
namespace {

std::string trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kSpace);
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(kSpace) - from + 1);
}

struct NamedBy {
  std::string name;
  std::string who;
};

NamedBy name_of(const ConfigPlaces& places, const ReadFile& read) {
  if (!places.name.empty()) return {places.name, "--config"};
  if (!places.label_file.empty()) {
    const std::string label = trimmed(read(places.label_file).value_or(""));
    if (!label.empty()) return {label, "the node's label (" + places.label_file + ")"};
  }
  return {places.fallback, "--default-config"};
}

}  // namespace

Parsed<ChosenConfig> choose_config(const ConfigPlaces& places, const ReadFile& read) {
  if (!places.file.empty()) {
    auto text = read(places.file);
    if (!text) return tl::unexpected(places.file + ": it cannot be read");
    return ChosenConfig{.file = places.file, .text = *std::move(text)};
  }
  if (places.folder.empty()) return ChosenConfig{};
  const NamedBy named = name_of(places, read);
  if (named.name.empty()) return ChosenConfig{};
  // A name is a file of the folder and nothing above or below it, whoever sets labels.
  if (named.name.find('/') != std::string::npos || named.name.front() == '.') {
    return tl::unexpected("'" + named.name + "', which " + named.who +
                          " says, is no name of a config");
  }
  const std::string path = places.folder + "/" + named.name;
  auto text = read(path);
  if (!text) {
    return tl::unexpected(path + ": it cannot be read; " + named.who + " names '" + named.name +
                          "'");
  }
  return ChosenConfig{.file = path, .text = *std::move(text)};
}

}  // namespace nvs::plugin
