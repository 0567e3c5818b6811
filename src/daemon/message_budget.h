// SPDX-License-Identifier: Apache-2.0
// How much clients may still say: buckets that fill steadily, each kept as the instant up to which
// what was said is paid for.
#pragma once

#include <algorithm>
#include <cstdint>

#include "daemon/limits.h"

namespace nvs::daemon {

// All messages of one connection. Whoever sends more than this is not one of ours.
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

// How often one connection may say that its drains have stalled.
class StallBudget {
 public:
  // False: this one is too many. It costs nothing, so that those pass that are not.
  bool take(Instant now, std::int64_t gpus) {
    const std::int64_t rate = kStallsPerSecond * std::max<std::int64_t>(gpus, 1);
    const Instant paid_until =
        std::max(paid_until_, now - kStallBurst) + Duration::from_s(1) / rate;
    if (paid_until > now) return false;
    paid_until_ = paid_until;
    return true;
  }

 private:
  Instant paid_until_;
};

// Something that all connections of one origin have together.
class SharedBudget {
 public:
  SharedBudget(std::int64_t per_second, Duration burst)
      : price_(Duration::from_s(1) / per_second), burst_(burst) {}

  bool is_open(Instant now) const { return paid_until_ <= now; }
  // Nothing of it is used: it need not be kept in mind.
  bool is_full(Instant now) const { return paid_until_ <= now - burst_; }
  void charge(Instant now, std::size_t count) {
    take(now, price_ * static_cast<std::int64_t>(count));
  }
  // One, of somebody who may have as many as the whole for each of so many GPUs.
  void charge_for(Instant now, std::int64_t gpus) {
    take(now, price_ / std::max<std::int64_t>(gpus, 1));
  }

 private:
  void take(Instant now, Duration cost) {
    paid_until_ = std::max(paid_until_, now - burst_) + cost;
  }

  Duration price_;
  Duration burst_;
  Instant paid_until_;
};

struct OriginBudgets {
  SharedBudget messages{kOriginMessagesPerSecond, kOriginMessageBurst};
  SharedBudget let_ins{kLetInsPerSecond, kLetInBurst};  // brought about by stalled drains
};

}  // namespace nvs::daemon
