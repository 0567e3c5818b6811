// SPDX-License-Identifier: Apache-2.0
// Who used a GPU not long ago and may come back at any moment. The holder's queue is bounded while
// there is such a tenant, so that its next request does not find a second of work before it.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "base/instant.h"
#include "core/ids.h"

namespace nvs::core {

class Presence {
 public:
  void left(TenantId tenant, Instant at) { gone_.insert({at, tenant}); }
  // It is back, or gone for good. `at` is when it left.
  void forget(TenantId tenant, Instant at) { gone_.erase({at, tenant}); }
  // Somebody who is not known yet may be about to come.
  void expect(Instant at) { expected_ = at; }
  // Until when somebody counts as present; nothing if nobody does any more.
  std::optional<Instant> until(Instant now) const;

 private:
  std::set<std::pair<Instant, TenantId>> gone_;
  std::optional<Instant> expected_;  // since when
};

}  // namespace nvs::core
