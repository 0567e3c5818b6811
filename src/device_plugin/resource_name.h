// SPDX-License-Identifier: Apache-2.0
// Names under which pods ask for devices, as API server and kubelet take them: wrong ones are found
// when the settings are read, not when no pod gets a device.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nvs::plugin {

// Of a resource's whole name, as NVIDIA's plugin has it, and of a device's id, as the kubelet has.
inline constexpr std::size_t kNameMax = 63;

// What is wrong with it; empty if nothing is.
std::string resource_name_error(std::string_view name);

// The same of the key of an annotation, [DOMAIN/]NAME.
std::string annotation_key_error(std::string_view key);

// The one of `known` that somebody may have meant; empty if none is near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace nvs::plugin
