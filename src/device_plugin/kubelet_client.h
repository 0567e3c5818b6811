// SPDX-License-Identifier: Apache-2.0
// The two questions that we put to the kubelet: register us, and who has which device. Both wait
// for the answer, with a deadline, so they are for threads that may.
#pragma once

#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/instant.h"
#include "device_plugin/config.h"
#include "device_plugin/daemon_link.h"
#include "device_plugin/usage.h"

namespace nvs::plugin {

enum class Preference : std::uint8_t { none, offered };

// `endpoint` is the name of our socket, beside the kubelet's. The kubelet calls us there before it
// answers, and asks for what `preference` says as well; those before 1.25 do not ask. `stop` ends
// the waiting.
Parsed<void> register_with_kubelet(const std::string& kubelet_socket, const std::string& endpoint,
                                   const std::string& resource, Preference preference,
                                   Duration deadline, const std::stop_token& stop);

// Of all containers: devices of whatever resource, and who has slots of ours.
struct ListedPods {
  std::set<PodDevice> devices;
  std::vector<SlotHolder> holders;
};
Parsed<ListedPods> list_pods(const std::string& socket, Duration deadline,
                             const std::stop_token& stop);

}  // namespace nvs::plugin
