// SPDX-License-Identifier: Apache-2.0
// Whether the folder is the daemon's still. One that is gone, or has another daemon's sockets, is
// found by nobody: this daemon would share a GPU beside the one that new programs find, and neither
// would know of the other.
#pragma once

#include "base/instant.h"
#include "daemon/limits.h"

namespace nvs::daemon {

class FolderWatch {
 public:
  explicit FolderWatch(Instant start) : next_look_(start + kFolderLook) {}

  Instant next_look() const { return next_look_; }

  // What this look at it says together with the one before: whoever moves the folder away may put
  // it back at once.
  bool is_lost_for_good(Instant now, bool is_lost) {
    next_look_ = now + kFolderLook;
    const bool was_lost = was_lost_;
    was_lost_ = is_lost;
    return is_lost && was_lost;
  }

 private:
  Instant next_look_;
  bool was_lost_ = false;
};

}  // namespace nvs::daemon
