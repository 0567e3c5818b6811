// SPDX-License-Identifier: Apache-2.0
#include "core/choice.h"

#include <algorithm>

#include "core/gangs.h"
#include "core/overdue.h"
#include "core/residency.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

std::size_t rank_of(const Gpu& gpu, Priority priority) {
  const auto order = order_of_classes(gpu);
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), priority) - order.begin());
}

// At the end of its window, does it get another one at once? Only if it is far behind: with drains
// of different lengths somebody is always a little behind, and the others would wait twice as long.
bool goes_on(const Seat& holder, const Seat& taker, Instant now) {
  if (holder.tenant->priority != taker.tenant->priority) return precedes(holder, taker, now);
  const Service margin = scaled(span_of(holder.gpu->policy) / 2, holder.tenant->weight);
  return holder.service_at(now) + margin < taker.service_at(now);
}

// Of two that work in bursts, the one that will be done first had better be: else both wait. It
// gains what the holder has left, and the holder loses the other's burst and two handovers. Only
// means are known, and a mistake costs as much as is gained: of equals, the one whose mean is a bit
// less just now would interrupt the other. So a quarter has to be left over.
bool pays(const Seat& taker, Duration left) {
  return taker.mean_burst + kSwitchCost * 2 < left - left / 4;
}

bool is_spared(const Seat& holder, const Seat& taker, Instant now) {
  if (holder.tenant->priority != taker.tenant->priority) return false;
  const auto left = holder.burst_left(now);
  return left && !pays(taker, *left);
}

std::optional<Choice> choose_of_class(Node& node, Gpu& gpu, Priority priority) {
  const WaitingLine::Ordered& singles = gpu.line.singles(priority);
  const WaitingLine::Ordered& gangs = gpu.line.gangs(priority);
  auto gang = gangs.begin();
  for (int tries = 0;;) {
    const bool more_gangs = gang != gangs.end() && tries < kGangTries;
    if (!more_gangs && singles.empty()) return std::nullopt;
    const bool is_gang = more_gangs && (singles.empty() || *gang < *singles.begin());
    Seat& seat = is_gang ? *gang->seat : *singles.begin()->seat;
    std::vector<Seat*> members = gang_of(*seat.tenant, node.now);
    if (members.size() < 2) return Choice{&seat, {}};
    if (can_start(node, gpu, members, Claim::turn)) return Choice{&seat, std::move(members)};
    ++tries;
    if (is_gang) {
      ++gang;
      continue;
    }
    gpu.line.move_to_gangs(seat);
  }
}

}  // namespace

std::array<Priority, kPriorities> order_of_classes(const Gpu& gpu) {
  std::array<Priority, kPriorities> order{};
  auto* next = order.begin();
  const Duration window = span_of(gpu.policy);
  for (const bool due : {true, false}) {
    for (const Priority priority : {Priority::high, Priority::normal, Priority::low}) {
      if (gpu.floors.is_due(priority, window) == due) *next++ = priority;
    }
  }
  return order;
}

bool precedes(const Seat& a, const Seat& b, Instant now) {
  const Priority class_a = a.tenant->priority;
  const Priority class_b = b.tenant->priority;
  if (class_a != class_b) return rank_of(*a.gpu, class_a) < rank_of(*a.gpu, class_b);
  return a.service_at(now) < b.service_at(now);
}

bool is_protected(const Seat& holder) {
  if (holder.overdue) return true;
  return holder.by_floor && holder.gpu->floors.owed(holder.tenant->priority) > Duration{};
}

bool is_idle(const Seat& holder) {
  if (!holder.in_gang) return holder.busy == 0;
  const auto& seats = holder.tenant->seats;
  return std::none_of(seats.begin(), seats.end(),
                      [](const auto& seat) { return seat && seat->in_gang && seat->busy > 0; });
}

bool outranks(const Seat& taker, const Seat& holder, Instant now) {
  if (is_protected(holder) || stay_of(holder.gpu->policy) == Stay::turn) return false;
  const Priority mine = taker.tenant->priority;
  const Priority theirs = holder.tenant->priority;
  if (mine != theirs) return mine > theirs;
  // By its weight, as its credit is: else no credit of a heavy one reaches as far.
  const Service lead = scaled(kWakeupLead, taker.tenant->weight);
  return taker.service_at(now) + lead < holder.service_at(now);
}

bool may_take(const Seat& taker, const Seat& holder, Instant now, Taker as) {
  if (is_idle(holder) && !is_resting(holder, now)) return true;
  if (now >= holder.window_end) return !goes_on(holder, taker, now);
  if (as == Taker::waiting || is_protected(holder)) return false;
  if (as == Taker::gang) return precedes(taker, holder, now);
  return outranks(taker, holder, now) && !is_spared(holder, taker, now);
}

std::optional<Instant> put_off_until(const Seat& taker, const Seat& holder, Instant now) {
  if (!outranks(taker, holder, now) || !is_spared(holder, taker, now)) return std::nullopt;
  return holder.burst_overdue(now);
}

std::optional<Choice> choose(Node& node, Gpu& gpu) {
  forget_gangs(gpu, node.now);
  if (Seat* overdue = overdue_gang(gpu, node.now)) {
    std::vector<Seat*> gang = gang_of(*overdue->tenant, node.now);
    if (can_start(node, gpu, gang, Claim::overdue)) return Choice{overdue, std::move(gang)};
  }
  for (const Priority priority : order_of_classes(gpu)) {
    if (auto choice = choose_of_class(node, gpu, priority)) return choice;
  }
  return std::nullopt;
}

}  // namespace nvs::core
