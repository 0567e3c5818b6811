// SPDX-License-Identifier: Apache-2.0
// The names of resources under which this node's GPUs were ever offered, in a file beside the
// library. An uninstallation goes by it: devices under other names are another plugin's, whatever
// they look like.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"

namespace nvs::plugin {

inline constexpr const char* kOfferedNamesFile = "resources";
inline constexpr std::size_t kOfferedNamesMax = 256;

// Adds those that are not in it, to what other plugins add at the same time. A file with as many
// names as it may have takes no more.
Result<void> remember_offered(const std::string& root, const std::set<std::string>& names);

// Nothing if any name may be ours: there is no such file, or it is full.
std::optional<std::set<std::string>> offered_ever(const std::string& root);

}  // namespace nvs::plugin
