// SPDX-License-Identifier: Apache-2.0
// A lock on the host's folder that plugins share for as long as they run. An uninstallation takes
// it alone before it removes anything, so that one which was left over does not remove what a later
// installation needs.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::plugin {

inline constexpr const char* kRootLockFile = "lock";

// Makes the folder if need be, and never waits. The lock is held for as long as the descriptor is.
Result<UniqueFd> hold_root(const std::string& root);

}  // namespace nvs::plugin
