// SPDX-License-Identifier: Apache-2.0
// What an administrator has set is in force, and the file of it could not be written: the next
// daemon will not know it.
#pragma once

#include <string>

namespace nvs::daemon {

struct Unsaved {
  std::string file;
  std::string error;  // why, in the system's words
};

}  // namespace nvs::daemon
