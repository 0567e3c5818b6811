// SPDX-License-Identifier: Apache-2.0
#include "core/presence.h"

#include <algorithm>

#include "core/policy.h"

namespace nvs::core {

std::optional<Instant> Presence::until(Instant now) const {
  std::optional<Instant> latest = expected_;
  if (!gone_.empty()) latest = std::max(latest, std::optional(gone_.rbegin()->first));
  if (!latest || *latest + kPresence <= now) return std::nullopt;
  return *latest + kPresence;
}

}  // namespace nvs::core
