// SPDX-License-Identifier: Apache-2.0
// How busy the daemon says that each GPU is. It is asked now and then; where it does not answer,
// pods are spread by their number alone.
#pragma once

#include <map>
#include <string>

#include "base/instant.h"
#include "device_plugin/config.h"

namespace nvs::plugin {

// By UUID: the part of its time that programs had lately, and what waits for it. `text` is the
// daemon's answer to `status`.
Parsed<std::map<std::string, double>> parse_loads(const std::string& text);

// Asks at the daemon's socket for administrators, and waits for that long at most.
Parsed<std::map<std::string, double>> ask_loads(const std::string& admin_socket, Duration patience);

}  // namespace nvs::plugin
