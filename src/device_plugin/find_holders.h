// SPDX-License-Identifier: Apache-2.0
// For an uninstallation: who has devices of ours. As long as pods have some, their containers may
// be restarted and need the library. The kubelet is asked, since the plugin that gave them away may
// be gone by then.
#pragma once

#include <vector>

#include "device_plugin/daemon_link.h"
#include "device_plugin/options.h"

namespace nvs::plugin {

// Of the resources that were ever offered here, or of all if no file says which (offered_names.h).
// The error says why it is not known. Nobody is an answer only of a kubelet that has been there for
// a while: one that has just come lists few of its pods, or none.
Parsed<std::vector<SlotHolder>> find_holders(const PluginOptions& options);

}  // namespace nvs::plugin
