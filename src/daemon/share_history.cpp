// SPDX-License-Identifier: Apache-2.0
#include "daemon/share_history.h"

#include <algorithm>
#include <cstdint>

namespace nvs::daemon {
namespace {

Duration part_of_span(Duration span, double part) {
  return Duration::from_ns(static_cast<std::int64_t>(static_cast<double>(span.ns()) * part));
}

}  // namespace

double ShareHistory::part_of(const Billed& billed, core::GpuId gpu, Duration span) const {
  if (billed.sum <= Duration{} || span <= Duration{}) return 1;
  double most = 1;
  const auto said = busy_.find(gpu);
  if (billed.tenants == 1 && !billed.capped && said != busy_.end()) {
    most = said->second.value_or(most);
  }
  return std::min(most * span.seconds() / billed.sum.seconds(), 1.0);
}

void ShareHistory::sample(Instant now, const core::NodeView& view) {
  std::map<core::GpuId, Billed> all;
  for (const core::TenantView& tenant : view.tenants) {
    for (const core::TenantOnGpu& use : tenant.gpus) {
      Past& past = pasts_[{tenant.tenant, use.gpu}];
      const bool is_new = past.ring.size() == 0;
      past.billed = is_new ? Duration{} : use.used - past.used;
      past.used = use.used;
      past.seen = now;
      Billed& billed = all[use.gpu];
      billed.sum += past.billed;
      billed.tenants += past.billed > Duration{} ? 1 : 0;
      billed.capped = billed.capped || use.cap != core::kNoCap;
    }
  }
  std::erase_if(pasts_, [now](const auto& entry) { return entry.second.seen != now; });
  const Duration span = sampled_ ? now - *sampled_ : Duration{};
  for (auto& [who, past] : pasts_) {
    past.part = part_of(all[who.second], who.second, span);
    const Duration before = past.ring.size() == 0 ? Duration{} : past.ring.from_end(1).got;
    past.ring.add({now, before + part_of_span(past.billed, past.part)});
  }
  sampled_ = now;
  next_.reset();
  if (!view.tenants.empty()) next_ = now + kSharePoll;
}

std::optional<double> ShareHistory::share(core::TenantId tenant, core::GpuId gpu, Instant now,
                                          Duration used, Duration span) const {
  const auto found = pasts_.find({tenant, gpu});
  if (found == pasts_.end()) return std::nullopt;
  const Past& past = found->second;
  const Ring<Had>& ring = past.ring;
  std::size_t back = 1;
  while (back < ring.size() && now - ring.from_end(back).at < span) ++back;
  const Had& base = ring.from_end(back);
  const Duration elapsed = now - base.at;
  if (elapsed < kShareSpanMin) return std::nullopt;
  const double since = (used - past.used).seconds() * past.part;
  const double got = (ring.from_end(1).got - base.got).seconds() + since;
  // A bill can shrink: clients tell late that they had no work.
  return std::max(got / elapsed.seconds(), 0.0);
}

}  // namespace nvs::daemon
