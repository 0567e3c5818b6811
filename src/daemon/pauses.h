// SPDX-License-Identifier: Apache-2.0
// Connections that are not read for a moment, because their origin has sent more than its share:
// what they send waits in their sockets, and then in them.
#pragma once

#include <deque>
#include <optional>

#include "base/instant.h"
#include "core/ids.h"
#include "daemon/limits.h"

namespace nvs::daemon {

class Pauses {
 public:
  void begin(core::ClientId client, Instant now) {
    waiting_.push_back({client, now + kOriginPause});
  }

  std::optional<Instant> next_end() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.front().until);
  }
  // One whose pause is over, the first to pause first. It may have left meanwhile.
  std::optional<core::ClientId> take_ended(Instant now) {
    if (waiting_.empty() || waiting_.front().until > now) return std::nullopt;
    const core::ClientId client = waiting_.front().client;
    waiting_.pop_front();
    return client;
  }

 private:
  struct Pause {
    core::ClientId client;
    Instant until;
  };
  std::deque<Pause> waiting_;  // all pauses are equally long: the first begun ends first
};

}  // namespace nvs::daemon
