// SPDX-License-Identifier: Apache-2.0
// How many messages a connection may still send: a bucket that fills steadily, kept as the instant
// up to which what was sent is paid for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "daemon/limits.h"

namespace nvs::daemon {

class MessageBudget {
 public:
  explicit MessageBudget(Instant now) : paid_until_(now - kMessageBurstAtFirst) {}

  // False: one too many. `gpus`: how many the connection uses.
  bool take(Instant now, std::int64_t gpus) {
    const std::int64_t rate = kMessagesPerSecond * std::max<std::int64_t>(gpus, 1);
    paid_until_ = std::max(paid_until_, now - kMessageBurst) + Duration::from_s(1) / rate;
    return paid_until_ <= now;
  }

 private:
  Instant paid_until_;
};

}  // namespace nvs::daemon
