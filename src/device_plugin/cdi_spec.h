// SPDX-License-Identifier: Apache-2.0
// The file by which a container runtime learns what our CDI devices are. It says the least version
// that knows all its fields, since runtimes refuse files that are newer than they are.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "device_plugin/allocate.h"
#include "device_plugin/inventory.h"

namespace nvs::plugin {

inline constexpr const char* kCdiFileName = "nvshare.com-gpu.json";

// As many again as a resource may have. Some 100 bytes each.
inline constexpr std::size_t kCdiNamesMax = 2 * kDevicesMax;

// The devices of the inventory, and those of pods that were allocated under other settings: a
// runtime refuses to restart a container whose device nobody describes any more. There is room for
// those that somebody holds before those that the file had.
std::string cdi_spec_text(const Inventory& inventory, const HostPaths& host,
                          const std::set<std::string>& held, const std::set<std::string>& earlier);

// The names of the devices in such a file; none if it is no such file, or not one of ours.
std::set<std::string> cdi_names_in(std::string_view text);

}  // namespace nvs::plugin
