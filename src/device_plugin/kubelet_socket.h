// SPDX-License-Identifier: Apache-2.0
// What the file of a kubelet's socket tells of the kubelet: whether it has been there for long. One
// that has just come lists few of its pods, or none.
#pragma once

#include <string>

namespace nvs::plugin {

// Whether the kubelet that made it has had the time to get to know its pods. No if there is none.
bool has_been_there(const std::string& socket);

}  // namespace nvs::plugin
