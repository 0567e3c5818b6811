// SPDX-License-Identifier: Apache-2.0
// The file by which a container runtime learns what our CDI devices are. It says the least version
// that knows all its fields, since runtimes refuse files that are newer than they are.
#pragma once

#include <string>

#include "device_plugin/allocate.h"
#include "device_plugin/inventory.h"

namespace nvs::plugin {

inline constexpr const char* kCdiFileName = "nvshare.com-gpu.json";

std::string cdi_spec_text(const Inventory& inventory, const HostPaths& host);

}  // namespace nvs::plugin
