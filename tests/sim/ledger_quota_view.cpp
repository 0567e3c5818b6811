// SPDX-License-Identifier: Apache-2.0
// What the ledger of quotas says when it is asked.
#include <algorithm>

#include "ledger_quota.h"

namespace nvs::sim {

core::Share LedgerQuota::cap(core::TenantId tenant) const {
  return place(tenant) < tenants_.size() ? tenants_[place(tenant)].cap : core::kNoCap;
}

const LedgerQuota::State& LedgerQuota::state(core::TenantId tenant, core::GpuId gpu) const {
  static const State nothing;
  const Seat* one = seat(tenant, gpu);
  return one != nullptr ? one->state : nothing;
}

Between<Duration> LedgerQuota::used(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  if (one == nullptr) return {};
  Between<Duration> used = one->used;
  if (one->state.busy.least > 0) used.least += now_ - one->used_until;
  if (one->state.busy.most > 0) used.most += now_ - one->used_until;
  return used;
}

bool LedgerQuota::has_account(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  return one != nullptr && one->has_account;
}

Between<double> LedgerQuota::credit(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  return one != nullptr ? Between<double>{one->poor.credit, one->rich.credit} : Between<double>{};
}

bool LedgerQuota::may_be_throttled(core::TenantId tenant, core::GpuId gpu) const {
  if (cap(tenant) == core::kNoCap) return false;
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
    const Seat* one = seat(tenant, core::GpuId{index});
    if (one == nullptr || !one->poor.throttled) continue;
    if (index == core::index_of(gpu) || one->state.wants || one->state.closing) return true;
  }
  return false;
}

bool LedgerQuota::is_throttled(core::TenantId tenant, core::GpuId gpu) const {
  if (cap(tenant) == core::kNoCap) return false;
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
    const Seat* one = seat(tenant, core::GpuId{index});
    if (one == nullptr || !one->rich.throttled) continue;
    const bool waits = one->state.wants && !one->state.holds && !one->state.paused;
    if (index == core::index_of(gpu) || waits) return true;
  }
  return false;
}

bool LedgerQuota::has_run_out(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  return one != nullptr && one->rich.throttled;
}

double LedgerQuota::taken(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  return one != nullptr ? one->taken : 0;
}

double LedgerQuota::granted(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  return one != nullptr ? one->granted : 0;
}

Between<double> LedgerQuota::scaled(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  return one != nullptr ? Between<double>{one->poor.earned, one->rich.earned} : Between<double>{};
}

Between<double> LedgerQuota::thrift(core::Share cap, const Gpu& gpu) {
  return {part(cap) * ns(gpu.period.least), part(cap) * ns(gpu.period.most)};
}

Between<double> LedgerQuota::carry(core::Share cap, const Gpu& gpu) {
  const double owed = ns(core::kQuotaCarry);
  return {part(cap) * std::max(owed, ns(gpu.round.least)),
          part(cap) * std::max(owed, ns(gpu.round.most))};
}

Between<double> LedgerQuota::quantum(core::Share cap, const Gpu& gpu) {
  // Alone it is its part of a period on and the rest of it off. Close to the whole GPU the rest
  // would be a crumb.
  const double off = std::max(1 - part(cap), 0.1);
  return {thrift(cap, gpu).least * off, thrift(cap, gpu).most * off};
}

Between<double> LedgerQuota::quantum(core::TenantId tenant, core::GpuId gpu) const {
  return quantum(cap(tenant), gpus_[core::index_of(gpu)]);
}

// The core knows which caps count, the ledger that it is between these.
Between<double> LedgerQuota::kept_after_change(core::TenantId tenant, core::GpuId gpu) const {
  const Gpu& on = gpus_[core::index_of(gpu)];
  double all = 0;
  for (const core::TenantId id : on.capped) all += part(cap(id));
  const Seat* one = seat(tenant, gpu);
  const double own = one != nullptr && one->sure.counts ? 0 : part(cap(tenant));
  const auto kept = [&](double sum, Duration period) {
    const double in_force = part(cap(tenant)) / std::max(1.0, sum);
    return std::min(in_force * ns(period), ns(period) / 4 + in_force * ns(stay_of(on.policy)));
  };
  // The core scales to whole shares.
  const double rounded = part(1) * ns(on.period.most + stay_of(on.policy));
  const Between<double> least = quantum(tenant, gpu);
  return {std::max(least.least, kept(all, on.period.least) - rounded),
          std::max(least.most, kept(sum(gpu).least + own, on.period.most))};
}

double LedgerQuota::carry(core::TenantId tenant, core::GpuId gpu) const {
  return carry(cap(tenant), gpus_[core::index_of(gpu)]).most;
}

Between<double> LedgerQuota::sum(core::GpuId gpu) const {
  Between<double> caps;
  for (const core::TenantId tenant : gpus_[core::index_of(gpu)].capped) {
    const Seat& one = *seat(tenant, gpu);
    if (one.sure.counts) caps.least += part(cap(tenant));
    if (one.may.counts) caps.most += part(cap(tenant));
  }
  return caps;
}

}  // namespace nvs::sim
