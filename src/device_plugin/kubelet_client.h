// SPDX-License-Identifier: Apache-2.0
// The two questions that we put to the kubelet: register us, and who has which device. Both wait
// for the answer, with a deadline, so they are for threads that may.
#pragma once

#include <set>
#include <stop_token>
#include <string>

#include "base/instant.h"
#include "device_plugin/config.h"

namespace nvs::plugin {

// `endpoint` is the name of our socket, beside the kubelet's. The kubelet calls us there before it
// answers. `stop` ends the waiting.
Parsed<void> register_with_kubelet(const std::string& kubelet_socket, const std::string& endpoint,
                                   const std::string& resource, Duration deadline,
                                   const std::stop_token& stop);

// The ids of all devices that containers have, of whatever resource.
Parsed<std::set<std::string>> list_pod_devices(const std::string& socket, Duration deadline);

}  // namespace nvs::plugin
