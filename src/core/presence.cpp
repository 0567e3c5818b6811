// SPDX-License-Identifier: Apache-2.0
#include "core/presence.h"

#include "core/policy.h"

namespace nvs::core {

std::optional<Instant> Presence::until(Instant now) const {
  if (gone_.empty()) return std::nullopt;
  const Instant end = gone_.rbegin()->first + kPresence;
  if (end <= now) return std::nullopt;
  return end;
}

}  // namespace nvs::core
