// SPDX-License-Identifier: Apache-2.0
#include "core/overdue.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/gangs.h"
#include "core/residency.h"

namespace nvs::core {
namespace {

// What a class has of a GPU at least. The high one has no floor; it is not worse off than others.
constexpr std::array<int, kPriorities> kLeastShares = {kFloorShareLow, kFloorShareNormal,
                                                       kFloorShareNormal};

// Of those of its class that are on the seat's GPU now, the seat itself among them.
std::int64_t weight_around(const Seat& seat) {
  const Tenant& tenant = *seat.tenant;
  std::int64_t weight = seat.gpu->line.weight_of(tenant.priority);
  if (!seat.waiting) weight += tenant.weight;
  for (const Seat* holder : seat.gpu->holders) {
    const Tenant& other = *holder->tenant;
    if (&other != &tenant && other.priority == tenant.priority) weight += other.weight;
  }
  return weight;
}

}  // namespace

bool is_older(const Tenant& a, const Tenant& b) {
  return std::pair(a.waiting_since, a.id) < std::pair(b.waiting_since, b.id);
}

bool is_overdue(const Tenant& tenant, Instant now) {
  if (tenant.lines == 0) return false;
  const int share = kLeastShares[static_cast<std::size_t>(tenant.priority)];
  const Duration waited = now - tenant.waiting_since;
  Duration window;
  std::int64_t weight = 0;
  int members = 0;
  for (const auto& seat : tenant.seats) {
    if (!seat || !is_active(*seat, now)) continue;
    if (seat->waiting && seat->gpu->line.oldest_gang(tenant.priority) != seat.get()) return false;
    window = std::max(window, span_of(seat->gpu->policy));
    if (waited < window * 1000 / share) return false;
    weight = std::max(weight, weight_around(*seat));
    ++members;
  }
  // Its windows take no more than its part of its class's share.
  return members > 1 && waited / weight * tenant.weight >= window * 1000 / share;
}

Seat* overdue_gang(const Gpu& gpu, Instant now) {
  Seat* oldest = nullptr;
  for (const Priority priority : {Priority::high, Priority::normal, Priority::low}) {
    Seat* seat = gpu.line.oldest_gang(priority);
    if (seat == nullptr || !is_overdue(*seat->tenant, now)) continue;
    if (oldest == nullptr || is_older(*seat->tenant, *oldest->tenant)) oldest = seat;
  }
  return oldest;
}

}  // namespace nvs::core
