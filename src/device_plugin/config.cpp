// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/config.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "device_plugin/config_kinds.h"
#include "device_plugin/resource_name.h"

namespace nvs::plugin {
namespace {

constexpr std::size_t kConfigBytesMax = std::size_t{1} << 20U;

template <class Enum, std::size_t kCount>
std::optional<Enum> find_word(const std::array<std::pair<const char*, Enum>, kCount>& words,
                              const std::string& word) {
  for (const auto& [name, value] : words) {
    if (word == name) return value;
  }
  return std::nullopt;
}

// Two resources of one name would take each other's registration. A file that says so by itself is
// refused when it is read, with the line.
std::string name_clash(const Config& config) {
  std::set<std::string> names;
  const auto is_new = [&names](const std::string& name) { return names.insert(name).second; };
  for (const SharedResource& resource : config.resources) {
    if (!is_new(resource.name)) return resource.name;
  }
  if (config.memory.is_offered && !is_new(config.memory.name)) return config.memory.name;
  if (config.cores.is_offered && !is_new(config.cores.name)) return config.cores.name;
  return "";
}

}  // namespace

std::optional<Injection> parse_injection(const std::string& word) {
  constexpr std::array<std::pair<const char*, Injection>, 3> kWords = {
      {{"ld-so-preload", Injection::ld_so_preload},
       {"cdi-cri", Injection::cdi_cri},
       {"env", Injection::env}}};
  return find_word(kWords, word);
}

std::optional<DeviceList> parse_device_list(const std::string& word) {
  constexpr std::array<std::pair<const char*, DeviceList>, 4> kWords = {
      {{"envvar", DeviceList::envvar},
       {"volume-mounts", DeviceList::volume_mounts},
       {"cdi-annotations", DeviceList::cdi_annotations},
       {"cdi-cri", DeviceList::cdi_cri}}};
  return find_word(kWords, word);
}

std::optional<Spread> parse_spread(const std::string& word) {
  constexpr std::array<std::pair<const char*, Spread>, 2> kWords = {
      {{"distributed", Spread::distributed}, {"packed", Spread::packed}}};
  return find_word(kWords, word);
}

Parsed<Config> parse_config(const std::string& text, const std::string& file) {
  if (text.size() > kConfigBytesMax) {
    return tl::unexpected(file + ":1: it is longer than 1 MiB");
  }
  YAML::Node root;
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.empty() || documents[0].IsNull()) {
      return tl::unexpected(file + ":1: it says nothing");
    }
    if (documents.size() > 1) {
      return tl::unexpected(
          yaml_complaint(file, documents[1].Mark(), "a second document begins here"));
    }
    root = documents[0];
  } catch (const YAML::Exception& error) {
    return tl::unexpected(yaml_complaint(file, error.mark, "it is no YAML: " + error.msg));
  }
  try {
    if (!root.IsMap()) {
      return tl::unexpected(
          yaml_complaint(file, root.Mark(), "it is no mapping of keys to values"));
    }
    const YAML::Node version = root["version"];
    const bool is_own =
        version.IsDefined() && version.IsScalar() && version.Scalar() == kOwnConfigVersion;
    return is_own ? parse_own_config(root, file) : parse_nvidia_config(root, file);
  } catch (const YAML::Exception& error) {
    return tl::unexpected(yaml_complaint(file, error.mark, error.msg));
  }
}

Parsed<Config> with_flags(Config config, const ConfigFlags& flags) {
  if (flags.resource || flags.replicas) {
    auto of_gpus = std::find_if(config.resources.begin(), config.resources.end(),
                                [](const auto& one) { return one.mig_profile.empty(); });
    if (of_gpus == config.resources.end()) {
      of_gpus = config.resources.insert(of_gpus, {.name = kNvidiaResource, .replicas = 1});
    }
    if (flags.resource) of_gpus->name = *flags.resource;
    if (flags.replicas) of_gpus->replicas = *flags.replicas;
  }
  if (flags.injection) config.injection = *flags.injection;
  if (flags.device_lists) config.device_lists = *flags.device_lists;
  if (flags.spread) config.spread = *flags.spread;
  if (flags.fails_requests_greater_than_one) {
    config.fails_requests_greater_than_one = *flags.fails_requests_greater_than_one;
  }
  if (flags.memory_ratio) {
    config.memory.is_offered = *flags.memory_ratio > 0;
    config.memory.ratio = *flags.memory_ratio;
  }
  if (flags.memory_unit_bytes) config.memory.unit_bytes = *flags.memory_unit_bytes;
  if (flags.offers_cores) config.cores.is_offered = *flags.offers_cores;
  const std::string clash = name_clash(config);
  if (!clash.empty()) return tl::unexpected("two resources have the name " + clash);
  return config;
}

}  // namespace nvs::plugin
