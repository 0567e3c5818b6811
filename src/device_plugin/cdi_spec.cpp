// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/cdi_spec.h"

#include <nlohmann/json.hpp>

namespace nvs::plugin {

std::string cdi_spec_text(const Inventory& inventory, const HostPaths& host) {
  using nlohmann::json;
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
  for (const OfferedResource& resource : inventory.resources) {
    if (resource.kind != DeviceKind::slot) continue;
    for (const OfferedDevice& device : resource.devices) {
      // A device must edit something. Slots are told by Allocate, since of several devices in one
      // container only the last one's variable would be seen.
      devices.push_back({{"name", cdi_name(device.id)},
                         {"containerEdits", {{"env", json::array({"NVSHARE_CDI=1"})}}}});
    }
  }
  const json spec = {{"cdiVersion", "0.6.0"},
                     {"kind", kCdiKind},
                     {"containerEdits", {{"mounts", std::move(mounts)}}},
                     {"devices", std::move(devices)}};
  return spec.dump() + "\n";
}

}  // namespace nvs::plugin
