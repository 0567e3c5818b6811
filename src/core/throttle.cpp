// SPDX-License-Identifier: Apache-2.0
#include "core/throttle.h"

#include <algorithm>

#include "core/accounts.h"
#include "core/readiness.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

bool wants(const Seat& seat) {
  return seat.hold == Hold::none && seat.wanting > 0 && !seat.tenant->paused;
}

// Where it stands among those that come back. One that is still being charged, because it could not
// drain, comes back later than this: it is looked at again then.
void note_return(Node& node, Seat& seat) {
  SeatQuota& quota = seat.quota;
  GpuQuota& on = seat.gpu->quota;
  const bool returning = quota.throttled && wants(seat);
  const bool is_new = returning && !quota.returning;
  const Duration back = returning ? quota.account->when(quantum(seat)) : Duration{};
  if (returning == quota.returning && (!returning || back == quota.back)) return;
  if (quota.returning) on.returning.erase({quota.back, seat.tenant->id});
  if (returning) on.returning.insert({back, seat.tenant->id});
  quota.returning = returning;
  quota.back = back;
  // Nobody will have to be closed first, so it is known when its window opens.
  if (is_new && seat.gpu->line.empty() && seat.gpu->holders.empty()) {
    tell_return(node, seat, on.clock.when(back) - node.now);
  }
}

void settle_here(Node& node, TenantId tenant, const Gpu& gpu) {
  settle(node, *node.books.tenant(tenant)->seats[index_of(gpu.id)]);
}

// Those that return wait for more or less than before.
void note_period(Node& node, Gpu& gpu) {
  const Duration period = period_of(gpu);
  if (std::exchange(gpu.quota.period, period) == period) return;
  const auto returning = gpu.quota.returning;
  for (const auto& [back, tenant] : returning) settle_here(node, tenant, gpu);
}

void settle_others(Node& node, const Seat& seat) {
  for (const auto& other : seat.tenant->seats) {
    if (other && other.get() != &seat) settle(node, *other);
  }
}

void run_out(Node& node, Seat& seat) {
  seat.quota.throttled = true;
  seat.hold == Hold::open ? end_window(node, seat) : settle(node, seat);
}

}  // namespace

void set_cap(Node& node, Tenant& tenant, Share cap, bool settles) {
  if (cap == tenant.cap) return;
  tenant.cap = cap;
  for (const auto& seat : tenant.seats) {
    if (!seat) continue;
    change_account(node, *seat);
    node.touch(*seat->gpu);
  }
  for (const auto& seat : tenant.seats) {
    if (seat) settle(node, *seat);
  }
  // Now all caps that count are known, and so is everybody's part of the GPU.
  for (const auto& seat : tenant.seats) {
    if (!seat) continue;
    settles ? cut_savings(node, *seat->gpu) : cut_savings(node, *seat);
  }
}

void note_quota(Node& node, Seat& seat) {
  SeatQuota& quota = seat.quota;
  seat.gpu->account(node.now);
  seat.accrue(node.now);
  note_counting(node, seat);
  // Whoever holds the GPU is asked to give it back first.
  if (seat.hold == Hold::none) {
    const Duration credit = credit_of(seat, node.now);
    quota.throttled = credit <= Duration{} || (quota.throttled && credit < quantum(seat));
  }
  note_return(node, seat);
  const bool blocks = quota.throttled && (seat.hold == Hold::closing || wants(seat));
  if (std::exchange(quota.blocks, blocks) != blocks) settle_others(node, seat);
}

bool lacks_quota(const Seat& seat) {
  if (seat.tenant->cap == kNoCap) return false;
  if (seat.quota.throttled) return true;
  const auto& seats = seat.tenant->seats;
  return std::any_of(seats.begin(), seats.end(),
                     [](const auto& other) { return other && other->quota.blocks; });
}

void enforce_caps(Node& node, Gpu& gpu) {
  GpuQuota& quota = gpu.quota;
  lapse_due(node, gpu);
  note_period(node, gpu);
  // What is skipped because the list has changed comes next: the GPU has been touched then.
  for (std::size_t i = 0; i < quota.charged.size(); ++i) {
    Seat& seat = *quota.charged[i];
    if (!seat.quota.throttled && credit_of(seat, node.now) <= Duration{}) run_out(node, seat);
  }
  const Duration at = quota.clock.at(node.now);
  while (!quota.returning.empty() && quota.returning.begin()->first <= at) {
    settle_here(node, quota.returning.begin()->second, gpu);
  }
}

std::optional<Instant> next_cap_event(const Gpu& gpu, Instant now) {
  const GpuQuota& quota = gpu.quota;
  std::optional<Instant> next;
  const auto no_later_than = [&next](Instant at) { next = next ? std::min(*next, at) : at; };
  for (const Seat* seat : quota.charged) {
    if (seat->quota.throttled) continue;
    if (const auto left = lasts(*seat, now)) no_later_than(now + *left);
  }
  if (!quota.returning.empty()) no_later_than(quota.clock.when(quota.returning.begin()->first));
  if (!quota.lapsing.empty()) no_later_than(quota.lapsing.begin()->first);
  return next;
}

}  // namespace nvs::core
