// SPDX-License-Identifier: Apache-2.0
// What the device plugin says of slots: what came into use or out of it, or a piece of the whole
// list.
#pragma once

#include <string>
#include <vector>

#include "daemon/pods.h"

namespace nvs::daemon {

struct SlotChange {
  bool begins = false;  // the first piece of a whole list
  bool ends = false;    // the last one
  std::vector<SlotUse> used;
  std::vector<std::string> freed;
};

}  // namespace nvs::daemon
