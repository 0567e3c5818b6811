// SPDX-License-Identifier: Apache-2.0
#include "daemon/share_history.h"

#include <algorithm>

namespace nvs::daemon {

void ShareHistory::sample(Instant now, const core::NodeView& view) {
  for (const core::TenantView& tenant : view.tenants) {
    for (const core::TenantOnGpu& use : tenant.gpus) {
      Bills& bills = bills_[{tenant.tenant, use.gpu}];
      bills.ring.add({now, use.used});
      bills.seen = now;
    }
  }
  std::erase_if(bills_, [now](const auto& entry) { return entry.second.seen != now; });
  next_.reset();
  if (!view.tenants.empty()) next_ = now + kSharePoll;
}

std::optional<double> ShareHistory::share(core::TenantId tenant, core::GpuId gpu, Instant now,
                                          Duration used, Duration span) const {
  const auto found = bills_.find({tenant, gpu});
  if (found == bills_.end()) return std::nullopt;
  const Ring<Bill>& ring = found->second.ring;
  std::size_t back = 1;
  while (back < ring.size() && now - ring.from_end(back).at < span) ++back;
  const Bill& base = ring.from_end(back);
  const Duration elapsed = now - base.at;
  if (elapsed < kShareSpanMin) return std::nullopt;
  // A bill can shrink: clients tell late that they had no work.
  return std::max((used - base.used).seconds() / elapsed.seconds(), 0.0);
}

}  // namespace nvs::daemon
