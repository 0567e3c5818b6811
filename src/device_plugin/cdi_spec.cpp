// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/cdi_spec.h"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

namespace nvs::plugin {
namespace {

using nlohmann::json;

// One name that CDI does not know makes the whole file worthless.
bool is_cdi_name(std::string_view name) {
  const auto is_plain = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
           (letter >= 'A' && letter <= 'Z');
  };
  return !name.empty() && is_plain(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char letter) {
           return is_plain(letter) || letter == '-' || letter == '_' || letter == '.';
         });
}

// In the order of the inventory. What is not in it comes after, as much as there is room for, and
// in an order that does not change with who holds something.
std::vector<std::string> device_names(const Inventory& inventory, const std::set<std::string>& held,
                                      const std::set<std::string>& earlier) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const OfferedResource& resource : inventory.resources) {
    if (resource.kind != DeviceKind::slot) continue;
    for (const OfferedDevice& device : resource.devices) {
      names.push_back(cdi_name(device.id));
      known.insert(names.back());
    }
  }
  std::set<std::string> others;
  for (const std::set<std::string>* source : {&held, &earlier}) {
    for (const std::string& name : *source) {
      if (names.size() + others.size() >= kCdiNamesMax) break;
      if (is_cdi_name(name) && !known.contains(name)) others.insert(name);
    }
  }
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

}  // namespace

std::string cdi_spec_text(const Inventory& inventory, const HostPaths& host,
                          const std::set<std::string>& held, const std::set<std::string>& earlier) {
  json mounts = json::array();
  for (const Mount& mount : library_mounts(host)) {
    json options = {"ro", "nosuid", "nodev", "bind"};
    // Code is only in the library.
    if (mount.container_path != kContainerLibrary) options.push_back("noexec");
    mounts.push_back({{"hostPath", mount.host_path},
                      {"containerPath", mount.container_path},
                      {"options", std::move(options)}});
  }
  json devices = json::array();
  for (const std::string& name : device_names(inventory, held, earlier)) {
    // A device must edit something. Slots are told by Allocate, since of several devices in one
    // container only the last one's variable would be seen.
    devices.push_back(
        {{"name", name}, {"containerEdits", {{"env", json::array({"NVSHARE_CDI=1"})}}}});
  }
  const json spec = {{"cdiVersion", "0.6.0"},
                     {"kind", kCdiKind},
                     {"containerEdits", {{"mounts", std::move(mounts)}}},
                     {"devices", std::move(devices)}};
  return spec.dump() + "\n";
}

std::set<std::string> cdi_names_in(std::string_view text) {
  const json spec = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!spec.is_object() || !spec.contains("kind") || spec["kind"] != kCdiKind) return {};
  if (!spec.contains("devices") || !spec["devices"].is_array()) return {};
  std::set<std::string> names;
  for (const json& device : spec["devices"]) {
    if (!device.is_object() || !device.contains("name") || !device["name"].is_string()) continue;
    names.insert(device["name"].get<std::string>());
  }
  return names;
}

}  // namespace nvs::plugin
