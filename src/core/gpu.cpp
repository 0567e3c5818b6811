// SPDX-License-Identifier: Apache-2.0
#include "core/gpu.h"

#include <algorithm>
#include <limits>

#include "core/books.h"
#include "core/residency.h"

namespace nvs::core {

Duration Gpu::held_at(Instant now) const {
  return holders.empty() ? held : held + (now - accounted);
}

Duration Gpu::handover_at(Instant now) const {
  const bool between = open == nullptr && !line.empty();
  return between ? handover + (now - accounted) : handover;
}

Duration Gpu::swap_idle_at(Instant now) const {
  const bool idle = holders.empty() && memory.waiting > 0;
  return idle ? swap_idle + (now - accounted) : swap_idle;
}

Duration Gpu::shared_at(Instant now) const {
  const Duration span = now - accounted;
  if (!is_shared()) return quota.shared + span;
  return quota.shared + (span + quota.shared_rest) / quota.working;
}

void Gpu::wake(Seat& seat) {
  if (waker != nullptr) line.put_off(*waker);
  waker = &seat;
}

void Gpu::note_work(Seat& seat) {
  const bool works = seat.busy > 0;
  if (std::exchange(seat.quota.works, works) == works) return;
  works ? ++quota.working : --quota.working;
  if (!seat.quota.account) return;
  works ? quota.charged.push_back(&seat) : static_cast<void>(std::erase(quota.charged, &seat));
}

void Gpu::account(Instant now) {
  const Duration span = now - accounted;
  if (span == Duration{}) return;
  held = held_at(now);
  handover = handover_at(now);
  swap_idle = swap_idle_at(now);
  const Duration before = std::exchange(quota.shared, shared_at(now));
  if (is_shared()) quota.shared_rest += span - (quota.shared - before) * quota.working;
  accounted = now;
  ClassFloors::Activities activities;
  for (std::size_t i = 0; i < activities.size(); ++i) {
    activities[i] = {line.size_of(static_cast<Priority>(i)) > 0, holding[i] > 0};
  }
  floors.pass(span, activities, span_of(policy));
}

Service Gpu::floor_of(Priority priority) {
  Service least = std::numeric_limits<Service>::max();
  // Gangs may be far behind because of another GPU: whoever came in there would keep all others
  // off.
  const WaitingLine::Ordered& singles = line.singles(priority);
  if (!singles.empty()) least = singles.begin()->service;
  if (has_windows()) {
    for (const Seat* seat : holders) {
      if (seat->tenant->priority == priority) {
        least = std::min(least, seat->service_at(accounted));
      }
    }
  }
  Service& floor = service_floor_[static_cast<std::size_t>(priority)];
  if (least != std::numeric_limits<Service>::max()) floor = std::max(floor, least);
  return floor;
}

}  // namespace nvs::core
