// SPDX-License-Identifier: Apache-2.0
// The decision on a GPU after something has changed: go on, end the window that is open, or open
// the next one.
#pragma once

#include "core/node.h"

namespace nvs::core {

// Decides for every GPU that was touched, then brings their terms and deadlines up to date.
void dispatch_touched(Node& node);

}  // namespace nvs::core
