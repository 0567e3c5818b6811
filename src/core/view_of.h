// SPDX-License-Identifier: Apache-2.0
// Makes the picture of the schedule that status, traces and checkers look at.
#pragma once

#include "base/instant.h"
#include "core/node.h"
#include "core/view.h"

namespace nvs::core {

NodeView view_of(const Node& node, Instant now);

}  // namespace nvs::core
