// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/byte_size.h"
#include "base/result.h"
#include "device_plugin/config_kinds.h"
#include "device_plugin/resource_name.h"

namespace nvs::plugin {
namespace {

Parsed<void> read_name(const YamlSection& section, const std::string& key, std::string& name) {
  const auto text = NVS_TRY(section.text(key));
  if (!text) return {};
  const std::string wrong = resource_name_error(*text);
  if (!wrong.empty()) return tl::unexpected(section.complaint(key, wrong));
  name = *text;
  return {};
}

// Two resources of one name would take each other's registration.
Parsed<void> check_name(const YamlSection& section, const std::string& name,
                        const std::vector<std::string>& others) {
  if (std::find(others.begin(), others.end(), name) == others.end()) return {};
  return tl::unexpected(
      section.complaint("resource", "is '" + name + "', which is another resource's name"));
}

Parsed<void> read_memory(const std::string& file, const YAML::Node& node, Config& config) {
  const auto section =
      NVS_TRY(YamlSection::read(file, node, "memory", {"resource", "unit", "ratio", "offered"}));
  config.memory.is_offered = NVS_TRY(section.flag("offered")).value_or(true);
  NVS_TRY(read_name(section, "resource", config.memory.name));
  if (const auto ratio = NVS_TRY(section.number("ratio", 0.01, kRatioMax))) {
    config.memory.ratio = *ratio;
  }
  if (const auto unit = NVS_TRY(section.text("unit"))) {
    const auto bytes = parse_bytes(*unit);
    if (!bytes || *bytes < (std::uint64_t{1} << 20U)) {
      return tl::unexpected(section.complaint("unit", "must be 1Mi or more, such as 1Gi"));
    }
    config.memory.unit_bytes = *bytes;
  }
  if (!config.memory.is_offered) return {};
  return check_name(section, config.memory.name, {config.resources.at(0).name});
}

Parsed<void> read_cores(const std::string& file, const YAML::Node& node, Config& config) {
  const auto section = NVS_TRY(YamlSection::read(file, node, "cores", {"resource", "offered"}));
  config.cores.is_offered = NVS_TRY(section.flag("offered")).value_or(true);
  NVS_TRY(read_name(section, "resource", config.cores.name));
  if (!config.cores.is_offered) return {};
  std::vector<std::string> others = {config.resources.at(0).name};
  if (config.memory.is_offered) others.push_back(config.memory.name);
  return check_name(section, config.cores.name, others);
}

Parsed<void> read_resource(const YamlSection& top, Config& config) {
  SharedResource& resource = config.resources.at(0);
  NVS_TRY(read_name(top, "resource", resource.name));
  if (const auto replicas = NVS_TRY(top.whole_number("replicas", 1, kReplicasMax))) {
    resource.replicas = static_cast<unsigned>(*replicas);
  }
  if (const auto fails = NVS_TRY(top.flag("failRequestsGreaterThanOne"))) {
    config.fails_requests_greater_than_one = *fails;
  }
  return {};
}

}  // namespace

Parsed<void> read_device_lists(const YamlSection& section, Config& config) {
  const std::vector<std::string> words = NVS_TRY(section.texts("deviceListStrategy"));
  if (words.empty()) return {};
  config.device_lists.clear();
  for (const std::string& word : words) {
    const auto list = parse_device_list(word);
    if (!list) {
      return tl::unexpected(section.complaint(
          "deviceListStrategy", "is '" + word +
                                    "', which is none of envvar, volume-mounts, cdi-annotations, "
                                    "cdi-cri"));
    }
    config.device_lists.push_back(*list);
  }
  return {};
}

Parsed<void> read_spread(const YamlSection& section, const std::string& key, Config& config) {
  const auto word = NVS_TRY(section.text(key));
  if (!word) return {};
  const auto spread = parse_spread(*word);
  if (!spread) return tl::unexpected(section.complaint(key, "is neither distributed nor packed"));
  config.spread = *spread;
  return {};
}

Parsed<Config> parse_own_config(const YAML::Node& root, const std::string& file) {
  const auto top = NVS_TRY(YamlSection::read(
      file, root, "",
      {"version", "resource", "replicas", "failRequestsGreaterThanOne", "injection",
       "deviceListStrategy", "passDeviceSpecs", "allocationPolicy", "memory", "cores"}));
  Config config;
  NVS_TRY(read_resource(top, config));
  if (const auto word = NVS_TRY(top.text("injection"))) {
    const auto injection = parse_injection(*word);
    if (!injection) {
      return tl::unexpected(top.complaint("injection", "is none of ld-so-preload, cdi-cri, env"));
    }
    config.injection = *injection;
  }
  NVS_TRY(read_device_lists(top, config));
  config.passes_device_files = NVS_TRY(top.flag("passDeviceSpecs")).value_or(false);
  NVS_TRY(read_spread(top, "allocationPolicy", config));
  if (top.has("memory")) NVS_TRY(read_memory(file, top.value("memory"), config));
  if (top.has("cores")) NVS_TRY(read_cores(file, top.value("cores"), config));
  return config;
}

}  // namespace nvs::plugin
