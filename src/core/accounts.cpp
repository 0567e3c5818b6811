// SPDX-License-Identifier: Apache-2.0
#include "core/accounts.h"

#include <algorithm>
#include <utility>

#include "core/memory_books.h"
#include "core/residency.h"
#include "core/terms.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

// Whoever sleeps saves up its part of a period, and no more: time not used is gone.
Duration thrift(const Seat& seat) { return part_of(period_of(*seat.gpu), seat.tenant->cap); }

// When a cap changes everybody keeps what it may have saved under the caps that are in force now,
// before it runs (no quantum is larger than a quarter of a period) and while somebody else has a
// window. More would be spent first, at the cost of the others. Who has saved a quantum may run,
// whatever changes.
Duration kept_after_change(const Seat& seat) {
  const Share cap = cap_in_force(seat);
  const Duration period = period_of(*seat.gpu);
  const Duration swing = period / 4 + part_of(span_of(seat.gpu->policy), cap);
  return std::max(quantum(seat), std::min(part_of(period, cap), swing));
}

Duration first_credit(const Seat& seat, Duration at) {
  const Duration most = quantum(seat);
  const auto kept = seat.tenant->kept.find(seat.gpu->id);
  if (kept == seat.tenant->kept.end() || seat.windows > 0) return most;
  const Account before(seat.tenant->cap, kept->second.credit, kept->second.at);
  return std::min(before.credit(at), most);
}

void open_account(Seat& seat, Instant now) {
  const Duration at = seat.gpu->quota.clock.at(now);
  seat.quota.account.emplace(seat.tenant->cap, first_credit(seat, at), at);
  seat.busy_changed = now;  // what was billed before that is not corrected any more
}

// Where there are no windows everybody says when it has work while there is a cap, and else nobody.
void tell_terms(Node& node, const Seat& seat, bool is_only_one) {
  if (seat.gpu->has_windows()) return;
  for (Seat* holder : seat.gpu->holders) {
    const bool concerned = is_only_one || holder == &seat;
    if (concerned && holder->hold == Hold::open) refresh_terms(node, *holder);
  }
}

void forget_lapse(Seat& seat) {
  seat.gpu->quota.lapsing.erase({seat.quota.lapses, seat.tenant->id});
}

void stop_counting(Seat& seat, Instant now) {
  if (!std::exchange(seat.quota.counts, false)) return;
  forget_lapse(seat);
  seat.gpu->quota.clock.remove(seat.quota.account->cap(), now);
}

// For how long others may have the GPU until it is one's turn.
Duration round_of(const Gpu& gpu, Instant now) {
  const Duration period = period_of(gpu);
  // Whoever has just lost its turn in a pause had the GPU until now, and may be back at once.
  const std::uint32_t about = gpu.present + (gpu.presence.until(now) ? 1 : 0);
  if (stay_of(gpu.policy) != Stay::turn || about <= 1) return period;
  const Duration round = std::min(span_of(gpu.policy), kQuotaPeriodMax) * about;
  return std::clamp(round, period, kQuotaPeriodMax);
}

void begin_activity(Seat& seat, Instant now) {
  SeatQuota& quota = seat.quota;
  const Duration pause = now - quota.ended;
  if (pause >= kBurstPause) quota.active_since = now;
  // A short pause does not cost what it is owed.
  const bool is_short = pause < seat.gpu->policy.quota_period;
  const Duration most = is_short ? std::max(thrift(seat), quota.kept) : thrift(seat);
  quota.account->keep_at_most(most, seat.gpu->quota.clock.at(now));
  if (std::exchange(quota.counts, true)) {
    forget_lapse(seat);
  } else {
    seat.gpu->quota.clock.add(quota.account->cap(), now);
  }
}

void end_activity(Seat& seat, Instant now) {
  SeatQuota& quota = seat.quota;
  quota.kept = quota.account->credit(seat.gpu->quota.clock.at(now));
  quota.ended = now;
  // For as long as it was active, up to a period: the cap of one that hardly pauses counts all the
  // time, and one that has work now and then takes little from the others' caps.
  const Duration lasted = now - quota.active_since;
  const Duration counts = std::clamp(lasted, kBurstPause, seat.gpu->policy.quota_period);
  quota.lapses = std::max(quota.lapses, now + counts);
  seat.gpu->quota.lapsing.insert({quota.lapses, seat.tenant->id});
}

}  // namespace

Duration period_of(const Gpu& gpu) {
  const Duration round = gpu.memory.tight ? gpu.memory.turn.round : Duration{};
  return std::clamp(round, gpu.policy.quota_period, kQuotaPeriodMax);
}

void need_account(Node& node, Seat& seat) {
  if (seat.quota.account) return;
  seat.gpu->account(node.now);
  seat.accrue(node.now);
  open_account(seat, node.now);
  GpuQuota& on = seat.gpu->quota;
  if (seat.quota.works) on.charged.push_back(&seat);
  tell_terms(node, seat, on.capped++ == 0);
}

void change_account(Node& node, Seat& seat) {
  if (seat.tenant->cap == kNoCap) return close_account(node, seat);
  if (!seat.quota.account) return need_account(node, seat);
  seat.gpu->account(node.now);
  seat.accrue(node.now);
  GpuQuota& on = seat.gpu->quota;
  Account& account = *seat.quota.account;
  if (seat.quota.counts) {
    on.clock.remove(account.cap(), node.now);
    on.clock.add(seat.tenant->cap, node.now);
  }
  account.set_cap(seat.tenant->cap, on.clock.at(node.now));
}

void cut_savings(Node& node, Seat& seat) {
  if (!seat.quota.account) return;
  seat.gpu->account(node.now);
  seat.accrue(node.now);
  const Duration most = kept_after_change(seat);
  seat.quota.account->keep_at_most(most, seat.gpu->quota.clock.at(node.now));
  seat.quota.kept = std::min(seat.quota.kept, most);
}

void cut_savings(Node& node, Gpu& gpu) {
  if (gpu.quota.capped == 0) return;
  for (auto& [id, tenant] : node.books.tenants()) {
    if (tenant.seats.size() <= index_of(gpu.id)) continue;
    Seat* seat = tenant.seats[index_of(gpu.id)].get();
    if (seat != nullptr) cut_savings(node, *seat);
  }
}

void set_credit(Node& node, Tenant& tenant, Gpu& gpu, Duration credit) {
  tenant.kept[gpu.id] = {std::max(credit, -kQuotaDebtMax), gpu.quota.clock.at(node.now)};
  if (tenant.seats.size() <= index_of(gpu.id)) return;
  Seat* seat = tenant.seats[index_of(gpu.id)].get();
  if (seat == nullptr || !seat->quota.account || seat->windows > 0) return;
  open_account(*seat, node.now);
  settle(node, *seat);
}

void close_account(Node& node, Seat& seat) {
  SeatQuota& quota = seat.quota;
  if (!quota.account) return;
  seat.gpu->account(node.now);
  seat.accrue(node.now);
  stop_counting(seat, node.now);
  GpuQuota& on = seat.gpu->quota;
  if (quota.returning) on.returning.erase({quota.back, seat.tenant->id});
  if (quota.works) std::erase(on.charged, &seat);
  quota.account.reset();
  quota.throttled = quota.blocks = quota.returning = quota.active = false;
  tell_terms(node, seat, --on.capped == 0);
}

Duration credit_of(const Seat& seat, Instant now) {
  const Duration booked = seat.quota.account->credit(seat.gpu->quota.clock.at(now));
  return std::max(booked - seat.uncharged(now), -kQuotaDebtMax);
}

Duration quantum(const Seat& seat) { return quantum_of(period_of(*seat.gpu), seat.tenant->cap); }

std::optional<Duration> lasts(const Seat& seat, Instant now) {
  const GpuQuota& on = seat.gpu->quota;
  Account account = *seat.quota.account;
  const Duration at = on.clock.at(now);
  account.charge(seat.uncharged(now), at);
  const std::uint32_t sharers = seat.gpu->has_windows() ? 1 : std::max(on.working, 1U);
  return account.lasts(at, on.clock, sharers);
}

Share cap_in_force(const Seat& seat) {
  return seat.gpu->quota.clock.in_force(seat.quota.account->cap(), seat.quota.counts);
}

void note_counting(Node& node, Seat& seat) {
  SeatQuota& quota = seat.quota;
  // Whether it waits for memory is known when memory was looked at, and may not be so any more.
  const bool asks = !seat.memory.impossible && asks_for_more(seat);
  const bool active = !seat.tenant->paused && (seat.busy > 0 || seat.wanting > 0 || asks);
  const bool was_active = std::exchange(quota.active, active);
  if (active && !was_active) begin_activity(seat, node.now);
  if (!active && was_active) end_activity(seat, node.now);
  if (seat.tenant->paused) {
    stop_counting(seat, node.now);
    quota.kept = {};
  }
  trim_credit(seat, node.now);
}

void trim_credit(Seat& seat, Instant now) {
  const Duration carry = std::max(kQuotaCarry, round_of(*seat.gpu, now));
  seat.quota.account->keep_at_most(part_of(carry, seat.tenant->cap), seat.gpu->quota.clock.at(now));
}

void lapse_due(Node& node, Gpu& gpu) {
  auto& lapsing = gpu.quota.lapsing;
  while (!lapsing.empty() && lapsing.begin()->first <= node.now) {
    const Tenant& tenant = *node.books.tenant(lapsing.begin()->second);
    stop_counting(*tenant.seats[index_of(gpu.id)], node.now);
  }
}

}  // namespace nvs::core
