// SPDX-License-Identifier: Apache-2.0
// For a daemon that a user's first program started: when nobody has used it for so long that it may
// end.
#pragma once

#include "base/instant.h"
#include "daemon/limits.h"

namespace nvs::daemon {

class UsageWatch {
 public:
  explicit UsageWatch(Instant start) : unused_until_(start + kUnusedAtFirst) {}

  // To be told after every round: the moment at which the last one ends counts. It is used while a
  // client is connected, or a process lives that has ever connected.
  void update(Instant now, bool is_used) {
    if (is_used || was_used_) unused_until_ = now + kUnusedGrace;
    was_used_ = is_used;
  }

  // Somebody may still come.
  void postpone(Instant now) { unused_until_ = now + kUnusedGrace; }

  // When to end, unless somebody comes before; means nothing while it is used.
  Instant end() const { return unused_until_; }

 private:
  Instant unused_until_;
  bool was_used_ = false;
};

}  // namespace nvs::daemon
