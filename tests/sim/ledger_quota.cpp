// SPDX-License-Identifier: Apache-2.0
#include "ledger_quota.h"

#include <algorithm>
#include <utility>

namespace nvs::sim {
namespace {

// The core counts whole nanoseconds. As close to a bound as this, either is right.
constexpr double kClose = 1'000;

}  // namespace

LedgerQuota::Seat& LedgerQuota::seat_at(core::TenantId tenant, core::GpuId gpu) {
  if (tenants_.size() <= place(tenant)) tenants_.resize(place(tenant) + 1);
  std::vector<Seat>& seats = tenants_[place(tenant)].seats;
  if (seats.size() < gpus_.size()) seats.resize(gpus_.size());
  return seats[core::index_of(gpu)];
}

const LedgerQuota::Seat* LedgerQuota::seat(core::TenantId tenant, core::GpuId gpu) const {
  if (tenants_.size() <= place(tenant)) return nullptr;
  const std::vector<Seat>& seats = tenants_[place(tenant)].seats;
  return core::index_of(gpu) < seats.size() ? &seats[core::index_of(gpu)] : nullptr;
}

void LedgerQuota::begin(Instant now, bool ticked) {
  const double span = ns(now - now_);
  now_ = now;
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
    Gpu& gpu = gpus_[index];
    if (gpu.capped.empty()) continue;
    if (span > 0) pass_time(gpu, index, span);
    for (const core::TenantId tenant : gpu.capped) {
      Seat& one = tenants_[place(tenant)].seats[index];
      const auto lapse = [now](Activity& it) {
        if (!it.active && now >= it.lapses) it.counts = false;
      };
      lapse(one.sure);
      // The core has a deadline for it, and may not have looked before.
      if (ticked) lapse(one.may);
    }
  }
}

void LedgerQuota::pass_time(Gpu& gpu, std::uint32_t index, double span) {
  const Between<double> caps = sum(core::GpuId{index});
  for (const core::TenantId tenant : gpu.capped) {
    Seat& one = tenants_[place(tenant)].seats[index];
    const double cap = part(tenants_[place(tenant)].cap);
    const double poor = cap * span / std::max(1.0, caps.most);
    const double rich = cap * span / std::max(1.0, caps.least);
    one.poor.credit += poor;
    one.rich.credit += rich;
    one.poor.earned += poor;
    one.rich.earned += rich;
    one.granted += cap * span;
    const Between<double> rate = charge_rate(gpu, one);
    if (one.state.chosen) one.taken += rate.least * span;
    charge(one, rate.most * span, rate.least * span);
  }
}

Between<double> LedgerQuota::charge_rate(const Gpu& gpu, const Seat& seat) const {
  const bool windows = gpu.policy.mode != core::Mode::concurrent;
  const bool sure = seat.state.busy.least > 0;
  const int others = gpu.working.least - (sure ? 1 : 0);
  Between<double> rate;
  if (sure) rate.least = windows ? 1.0 : 1.0 / gpu.working.most;
  if (seat.state.busy.most > 0) rate.most = windows ? 1.0 : 1.0 / (others + 1);
  return rate;
}

void LedgerQuota::charge(Seat& seat, double poor, double rich) {
  const double least = -ns(core::kQuotaDebtMax);
  seat.poor.credit = std::max(seat.poor.credit - poor, least);
  seat.rich.credit = std::max(seat.rich.credit - rich, least);
}

void LedgerQuota::set_policy(core::GpuId gpu, const core::GpuPolicy& policy) {
  gpus_[core::index_of(gpu)].policy = policy;
  const Between<Duration> period = {policy.quota_period, policy.quota_period};
  set_period(gpu, period, period);
}

void LedgerQuota::set_period(core::GpuId gpu, Between<Duration> period, Between<Duration> round) {
  const auto within = [](Duration span) {
    return std::clamp(span, core::kQuotaPeriodMin, core::kQuotaPeriodMax);
  };
  gpus_[core::index_of(gpu)].period = {within(period.least), within(period.most)};
  gpus_[core::index_of(gpu)].round = {within(round.least), within(round.most)};
}

void LedgerQuota::set_state(core::TenantId tenant, core::GpuId gpu, const State& state) {
  Seat& one = seat_at(tenant, gpu);
  Gpu& on = gpus_[core::index_of(gpu)];
  const Duration span = now_ - std::exchange(one.used_until, now_);
  if (one.state.busy.least > 0) one.used.least += span;
  if (one.state.busy.most > 0) one.used.most += span;
  on.working.least += (state.busy.least > 0 ? 1 : 0) - (one.state.busy.least > 0 ? 1 : 0);
  on.working.most += (state.busy.most > 0 ? 1 : 0) - (one.state.busy.most > 0 ? 1 : 0);
  if (one.state.busy != state.busy) one.changed = now_;
  State asked = one.state;
  asked.asks = state.asks;  // a wish for memory is no reason to look at what it has saved
  if (asked != state) one.moved = true;
  if (state.holds && !one.state.holds) one.held_since = now_;
  one.state = state;
}

LedgerQuota::Before LedgerQuota::before(core::TenantId tenant, core::GpuId gpu) const {
  const Seat* one = seat(tenant, gpu);
  return one != nullptr ? Before{one->state, std::max(one->changed, one->held_since)} : Before{};
}

// Of those that may be busy only one may have to stop or begin for it, or others were at work
// meanwhile.
void LedgerQuota::backdate(core::TenantId tenant, core::GpuId gpu, const Before& earlier,
                           Duration span) {
  Seat& one = seat_at(tenant, gpu);
  const State& before = earlier.state;
  span = std::clamp(span, Duration{}, now_ - earlier.since);
  const Between<int>& busy = one.state.busy;
  const auto turns = [](int was, int is) { return was + is == 1; };
  const bool least = turns(before.busy.least, busy.least);
  const bool most = turns(before.busy.most, busy.most);
  const bool sure = least && most && before.busy.least == before.busy.most;
  if (!least && !most) return;
  const bool idles = busy.least < before.busy.least || busy.most < before.busy.most;
  // As it was shared then: whoever has stopped was one of those at work, and so was one that may
  // have begun.
  Gpu then = gpus_[core::index_of(gpu)];
  then.working.least += busy.least == 0 ? 1 : 0;
  then.working.most += busy.most == 0 ? 1 : 0;
  Seat worked = one;
  worked.state.busy = {1, 1};
  const Between<double> rate = charge_rate(then, worked);
  if (idles) {
    one.used.least -= span;
    if (sure) one.used.most -= span;
    one.taken -= rate.most * ns(span);
    charge(one, sure ? -ns(span) * rate.least : 0, -ns(span) * rate.most);
  } else {
    one.used.most += span;
    if (sure) one.used.least += span;
    charge(one, ns(span) * rate.most, sure ? ns(span) * rate.least : 0);
  }
}

void LedgerQuota::set_cap(core::TenantId tenant, core::Share cap) {
  seat_at(tenant, core::GpuId{0});
  Tenant& of = tenants_[place(tenant)];
  cap = std::min(cap, core::kWholeGpu);
  if (cap == of.cap) return;
  caps_ += (cap != core::kNoCap ? 1 : 0) - (of.cap != core::kNoCap ? 1 : 0);
  of.cap = cap;
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
    const core::GpuId gpu{index};
    if (!of.seats[index].known) continue;
    if (cap == core::kNoCap) {
      close_account(tenant, gpu);
    } else if (!of.seats[index].has_account) {
      open_account(tenant, gpu);
    }
    cut_savings(gpus_[index], index);
  }
}

// Of all that have an account there: what they saved under other caps is not spent first.
void LedgerQuota::cut_savings(const Gpu& gpu, std::uint32_t index) {
  for (const core::TenantId id : gpu.capped) {
    Seat& one = tenants_[place(id)].seats[index];
    const Between<double> most = kept_after_change(id, core::GpuId{index});
    one.poor.credit = std::min(one.poor.credit, most.least);
    one.rich.credit = std::min(one.rich.credit, most.most);
    one.sure.kept = std::min(one.sure.kept, most.least);
    one.may.kept = std::min(one.may.kept, most.most);
  }
}

void LedgerQuota::need_account(core::TenantId tenant, core::GpuId gpu) {
  Seat& one = seat_at(tenant, gpu);
  one.known = true;
  if (tenants_[place(tenant)].cap != core::kNoCap && !one.has_account) open_account(tenant, gpu);
}

void LedgerQuota::set_credit(core::TenantId tenant, core::GpuId gpu, Duration credit) {
  Seat& one = seat_at(tenant, gpu);
  if (!one.has_account) return;
  one.poor.credit = std::min(one.poor.credit, ns(credit));
  one.rich.credit = std::min(one.rich.credit, ns(credit));
}

void LedgerQuota::open_account(core::TenantId tenant, core::GpuId gpu) {
  Seat& one = seat_at(tenant, gpu);
  Gpu& on = gpus_[core::index_of(gpu)];
  one.has_account = true;
  one.changed = now_;  // no correction reaches further back
  const Between<double> first = quantum(tenants_[place(tenant)].cap, on);
  one.poor.credit = first.least;
  one.rich.credit = first.most;
  on.capped.push_back(tenant);
}

void LedgerQuota::close_account(core::TenantId tenant, core::GpuId gpu) {
  Seat& one = seat_at(tenant, gpu);
  if (!std::exchange(one.has_account, false)) return;
  if (one.poor.throttled || one.rich.throttled) changed_.push_back(tenant);
  one.poor.throttled = one.rich.throttled = false;
  one.sure = one.may = {};
  std::erase(gpus_[core::index_of(gpu)].capped, tenant);
}

void LedgerQuota::forget(core::TenantId tenant) {
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
    close_account(tenant, core::GpuId{index});
    seat_at(tenant, core::GpuId{index}).known = false;
  }
  if (std::exchange(tenants_[place(tenant)].cap, core::kNoCap) != core::kNoCap) --caps_;
}

// What was saved while it slept is its part of a period, and no more; but a short pause does not
// cost what it was owed. The poor side loses it if it may have slept, the rich side if it did.
void LedgerQuota::note_activity(core::TenantId tenant, std::uint32_t index) {
  Seat& one = tenants_[place(tenant)].seats[index];
  const State& state = one.state;
  const Duration period = gpus_[index].policy.quota_period;
  const Between<double> most = thrift(tenants_[place(tenant)].cap, gpus_[index]);
  const bool sure = !state.paused && (state.busy.least > 0 || state.wants);
  const bool may = !state.paused && (state.busy.most > 0 || state.wants || state.asks);
  const auto wake = [&](const Activity& it, Side& side, double keeps) {
    const bool is_short = now_ - it.ended < period;
    side.credit = std::min(side.credit, is_short ? std::max(keeps, it.kept) : keeps);
  };
  if (!one.sure.active && may) wake(one.sure, one.poor, most.least);
  if (!one.may.active && sure) wake(one.may, one.rich, most.most);
  const auto follow = [&](Activity& it, bool active, const Side& side) {
    if (!active && it.active) {
      it.kept = side.credit;
      it.ended = now_;
      const Duration counts = std::clamp(now_ - it.active_since, core::kBurstPause, period);
      it.lapses = std::max(it.lapses, now_ + counts);
    }
    if (active && !it.active && now_ - it.ended >= core::kBurstPause) it.active_since = now_;
    it.active = active;
    it.counts = (it.counts || active) && !state.paused;
    if (state.paused) it.kept = 0;
  };
  const bool doubtful = one.may.active && !one.sure.active;
  follow(one.sure, sure, one.poor);
  follow(one.may, may, one.rich);
  // It may have stopped at any time since.
  if (doubtful) one.sure.kept = std::min(one.sure.kept, one.poor.credit);
  if (doubtful) one.may.kept = std::max(one.may.kept, one.rich.credit);
}

void LedgerQuota::note_throttled(core::TenantId tenant, std::uint32_t index, bool ticked) {
  Seat& one = tenants_[place(tenant)].seats[index];
  const core::Share cap = tenants_[place(tenant)].cap;
  const Between<double> enough = quantum(cap, gpus_[index]);
  const Between<double> most = carry(cap, gpus_[index]);
  one.poor.credit = std::min(one.poor.credit, most.least);
  const bool moved = std::exchange(one.moved, false);
  if (moved) one.rich.credit = std::min(one.rich.credit, most.most);
  // The core looks at those that work, which may run out, and at those that hold nothing: when
  // something about them changes, or when they want more and time has passed. One that has gone
  // idle in its window is seen when it has given that back.
  const State& state = one.state;
  const bool returns = state.wants && !state.holds && !state.paused;
  const bool works = state.busy.least > 0;
  const bool looked = moved ? works || !state.holds : ticked && (works || returns);
  // What it has had is known when it has given the GPU back: until then nothing lets it off.
  const bool lets_off = !one.state.closing;
  const bool poor = one.poor.throttled, rich = one.rich.throttled;
  if (one.poor.credit <= kClose) one.poor.throttled = true;
  if (lets_off && looked && one.poor.credit >= enough.most + kClose) one.poor.throttled = false;
  if (looked && one.rich.credit <= -kClose) one.rich.throttled = true;
  if (lets_off && one.rich.credit >= enough.least - kClose) one.rich.throttled = false;
  if (poor != one.poor.throttled || rich != one.rich.throttled) changed_.push_back(tenant);
}

void LedgerQuota::end(bool ticked) {
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
    for (const core::TenantId tenant : gpus_[index].capped) {
      note_activity(tenant, index);
      note_throttled(tenant, index, ticked);
    }
  }
}

std::vector<core::TenantId> LedgerQuota::take_changed() { return std::exchange(changed_, {}); }

}  // namespace nvs::sim
