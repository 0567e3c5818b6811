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

double ShareHistory::part_of(const Together& all, core::GpuId gpu, Duration span) const {
  if (all.sum <= Duration{} || span <= Duration{}) return 1;
  double most = 1;
  const auto said = busy_.find(gpu);
  if (all.tenants == 1 && !all.capped && said != busy_.end()) {
    most = said->second.value_or(most);
  }
  return std::min(most * span.seconds() / all.sum.seconds(), 1.0);
}

void ShareHistory::sample(Instant now, const core::NodeView& view) {
  std::map<core::GpuId, Together> all;
  for (const core::TenantView& tenant : view.tenants) {
    for (const core::TenantOnGpu& use : tenant.gpus) {
      Past& past = pasts_[{tenant.tenant, use.gpu}];
      const bool is_new = past.ring.size() == 0;
      past.more = is_new ? Duration{} : use.had - past.had;
      past.had = use.had;
      past.seen = now;
      Together& here = all[use.gpu];
      here.sum += past.more;
      if (past.more <= Duration{}) continue;
      ++here.tenants;
      here.capped = here.capped || use.cap != core::kNoCap;
    }
  }
  std::erase_if(pasts_, [now](const auto& entry) { return entry.second.seen != now; });
  const Duration span = sampled_ ? now - *sampled_ : Duration{};
  for (auto& [who, past] : pasts_) {
    past.part = part_of(all[who.second], who.second, span);
    const Duration before = past.ring.size() == 0 ? Duration{} : past.ring.from_end(1).got;
    past.ring.add({now, before + part_of_span(past.more, past.part)});
  }
  sampled_ = now;
  next_.reset();
  if (!view.tenants.empty()) next_ = now + kSharePoll;
}

std::optional<double> ShareHistory::share(core::TenantId tenant, core::GpuId gpu, Instant now,
                                          Duration had, Duration span) const {
  const auto found = pasts_.find({tenant, gpu});
  if (found == pasts_.end()) return std::nullopt;
  const Past& past = found->second;
  const Ring<Had>& ring = past.ring;
  std::size_t back = 1;
  while (back < ring.size() && now - ring.from_end(back).at < span) ++back;
  const Had& base = ring.from_end(back);
  const Duration elapsed = now - base.at;
  if (elapsed < kShareSpanMin) return std::nullopt;
  const double since = (had - past.had).seconds() * past.part;
  const double got = (ring.from_end(1).got - base.got).seconds() + since;
  // A bill can shrink: clients tell late that they had no work.
  return std::max(got / elapsed.seconds(), 0.0);
}

}  // namespace nvs::daemon
