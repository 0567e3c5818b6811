// SPDX-License-Identifier: Apache-2.0
// The command line of nvshare-device-plugin, and the messages for those who get it wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/early_exit.h"
#include "base/instant.h"
#include "base/log.h"
#include "device_plugin/config.h"
#include "device_plugin/config_choice.h"
#include "device_plugin/health.h"

namespace nvs::plugin {

struct PluginOptions {
  std::string kubelet_folder = "/var/lib/kubelet/device-plugins";
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string daemon_folder = "/var/run/nvshare";
  std::string library = "/usr/lib/nvshare/libnvshare.so";
  std::string host_root = "/var/lib/nvshare";  // as the host calls it
  std::string root_mount;                      // as we see it; the same if nothing is said
  std::string cdi_folder = "/var/run/cdi";
  std::string sysfs = "/sys";
  ConfigPlaces places;
  ConfigFlags flags;
  HealthRules health;
  std::string labels_file;    // empty: none
  std::string probe_address;  // empty: no probes
  Duration poll = Duration::from_s(5);
  LogLevels log_levels;
  bool requires_scheduler = false;
  bool only_checks = false;
  bool only_asks_for_holders = false;
};

// The value of a variable; null where it is not set.
using GetVariable = std::function<const char*(const char* name)>;

tl::expected<PluginOptions, EarlyExit> parse_options(std::vector<std::string> arguments,
                                                     const GetVariable& variable);

}  // namespace nvs::plugin
