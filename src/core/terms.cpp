// SPDX-License-Identifier: Apache-2.0
#include "core/terms.h"

#include <algorithm>

#include "base/assert.h"

namespace nvs::core {
namespace {

// For those without a cap beside one with a cap, where there are no windows: only whoever has a
// bound says when it has work.
constexpr Duration kQueueBoundShared = Duration::from_s(1);

bool may_wake(const Gpu& gpu, const Seat& holder, Instant now) {
  return gpu.sleepers > (holder.sleeper ? 1U : 0U) || gpu.sleepers_gone.until(now);
}

Duration steady_bound(const GpuPolicy& policy) {
  return std::clamp(policy.window / kQueueBoundOfWindow, kQueueBound, kQueueBoundSteady);
}

// Whether others' queues must be short for its sake follows from what it was like until now.
void note_attendance(Node& node, Seat& seat, bool present) {
  seat.attendance.add(node.now, seat.attends);
  seat.attends = present && (seat.hold != Hold::open || seat.busy > 0);
  const bool sleeper = present && !seat.attendance.is_steady();
  if (sleeper == seat.sleeper) return;
  seat.sleeper = sleeper;
  sleeper ? ++seat.gpu->sleepers : --seat.gpu->sleepers;
}

}  // namespace

void note_presence(Node& node, Seat& seat) {
  // One that has had its share for now did not go to sleep.
  const bool waits = seat.waiting || seat.quota.waits || (seat.memory.waits && seat.memory.outside);
  const bool present = seat.hold != Hold::none || waits || seat.beside > 0;
  note_attendance(node, seat, present);
  if (present == seat.present) return;
  seat.present = present;
  Gpu& gpu = *seat.gpu;
  if (present) {
    ++gpu.present;
    if (seat.in_presence) forget_presence(seat);
  } else {
    --gpu.present;
    seat.last_present = node.now;
    gpu.presence.left(seat.tenant->id, node.now);
    if (!seat.attendance.is_steady()) gpu.sleepers_gone.left(seat.tenant->id, node.now);
  }
  seat.in_presence = !present;
  NVS_ASSERT(gpu.sleepers <= gpu.present);
}

void forget_presence(Seat& seat) {
  seat.gpu->presence.forget(seat.tenant->id, seat.last_present);
  seat.gpu->sleepers_gone.forget(seat.tenant->id, seat.last_present);
}

WindowTerms terms_for(const Gpu& gpu, const Seat& holder, Instant now) {
  const bool capped = holder.quota.account.has_value();
  if (!gpu.has_windows()) {
    if (gpu.quota.capped == 0) return {};
    return {capped ? steady_bound(gpu.policy) : kQueueBoundShared, false, capped};
  }
  const bool others = gpu.present > (holder.present ? 1U : 0U);
  const bool swapped = gpu.memory.waiting > (holder.memory.waits ? 1U : 0U);
  // Who waits for memory could not use a window that is given up: it is enough to hear when the
  // holder has nothing to do.
  const bool bounded = capped || others || swapped || gpu.presence.until(now);
  const Duration bound = may_wake(gpu, holder, now) ? kQueueBound : steady_bound(gpu.policy);
  return {bounded ? bound : Duration{}, !gpu.line.empty(), capped};
}

void refresh_terms(Node& node, Seat& seat) {
  const WindowTerms terms = terms_for(*seat.gpu, seat, node.now);
  if (terms == seat.terms) return;
  seat.terms = terms;
  for (const Gate* gate : seat.gates) {
    if (gate->state != GateState::open) continue;
    node.emit(ChangeTerms{gate->client, seat.gpu->id, gate->grant, terms});
  }
}

}  // namespace nvs::core
