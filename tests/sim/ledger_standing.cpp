// SPDX-License-Identifier: Apache-2.0
// How tenants stand on each GPU, in the ledger: what their clients add up to.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "ledger.h"
#include "sim_clock.h"

namespace nvs::sim {

bool Ledger::lacks_elsewhere(const LedgerTenant& tenant) const {
  for (std::uint32_t gpu = 0; gpu < tenant.on.size(); ++gpu) {
    const Standing& standing = tenant.on[gpu];
    if (!standing.swapped || standing.held_since) continue;
    for (const core::ClientId client : tenant.clients) {
      const Slot& slot = clients_[static_cast<std::size_t>(client)].slots[gpu];
      if (slot.wants && slot.gate == Slot::Gate::closed) return true;
    }
  }
  return false;
}

// What a tenant's clients add up to on one GPU, after something about one of them changed.
void Ledger::refresh(core::TenantId id, core::GpuId gpu) {
  if (!note_swapped(id) && quota_.cap(id) == core::kNoCap) {
    refresh_one(id, gpu);
    return;
  }
  // Where it lacks memory, or has had its share, it may wait in vain on its other GPUs.
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) note_quota(id, core::GpuId{index});
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) refresh_one(id, core::GpuId{index});
}

void Ledger::refresh_one(core::TenantId id, core::GpuId gpu) {
  LedgerTenant& tenant = tenant_at(id);
  Standing& standing = tenant.on[core::index_of(gpu)];
  bool wants = false, holds_it = false, busy = false, asks = false;
  for (const core::ClientId client : tenant.clients) {
    const Slot& one = clients_[static_cast<std::size_t>(client)].slots[core::index_of(gpu)];
    wants |= one.wants && one.gate == Slot::Gate::closed;
    holds_it |= holds(one);
    busy |= holds(one) && !one.idle;
    asks |= one.memory.asked > 0;
  }
  if (holds_it && standing.idle == busy) {
    standing.idle = !busy;
    standing.idle_since = now_;
  }
  LedgerGpu& on = gpus_[core::index_of(gpu)];
  if (holds_it != standing.held_since.has_value()) {
    on.last_change = now_;
    ++on.changes;
    if (holds_it) {
      // Given up and opened again in one step: the same window goes on.
      const bool goes_on = standing.held_last == now_;
      standing.held_since = goes_on ? standing.held_before : now_;
      standing.holder_left = false;
      if (!goes_on) standing.held_used = quota_.used(id, gpu);
      if (!has_rested(id, gpu)) begin_turn(id, gpu);
    } else {
      standing.change = on.changes;
      standing.held_last = now_;
      standing.excused_until_then = excused_;
      standing.held_before = *standing.held_since;
      standing.held_since.reset();
    }
  }
  standing.wants = wants && !holds_it && !tenant.paused;
  note_quota(id, gpu);
  const LedgerQuota::State& state = quota_.state(id, gpu);
  const bool about = state.holds || state.wants || state.beside || state.asks;
  if (std::exchange(standing.about, about) && !about) standing.gone_since = now_;
  // Whoever has had its share stands in no line.
  const bool stands = standing.wants && !quota_.is_throttled(id, gpu);
  standing.stands = stands;
  const bool lacks = (stands && standing.swapped) || (asks && !tenant.paused);
  if (lacks != standing.lacks_since.has_value()) {
    standing.lacks_since = lacks ? std::optional(now_) : std::nullopt;
  }
  // Whoever lacks memory on a GPU that it wants is not served on its others either.
  const bool waits = stands && !lacks_elsewhere(tenant) && !quota_.may_be_throttled(id, gpu);
  if (waits != standing.waits_since.has_value()) {
    if (!waits) {
      standing.longest_wait = std::max(standing.longest_wait, now_ - *standing.waits_since);
    }
    standing.waits_since = waits ? std::optional(now_) : std::nullopt;
    if (waits) {
      on.waiting.push_back(id);
    } else {
      std::erase(on.waiting, id);
    }
  }
}

bool Ledger::may_be_renewed(core::TenantId id, core::GpuId gpu) const {
  const LedgerGpu& on = this->gpu(gpu);
  const Standing& it = standing(id, gpu);
  return it.turn_adopted || now_ - it.turn_since >= stay_of(on.policy) ||
         on.policy_since >= it.turn_since;
}

bool Ledger::has_rested(core::TenantId id, core::GpuId gpu) const {
  const LedgerGpu& on = this->gpu(gpu);
  const Standing& it = standing(id, gpu);
  if (on.policy.mode != core::Mode::serial || !it.gave_up || it.change + 1 != on.changes) {
    return false;
  }
  if (*it.held_last == now_) return true;  // given up and opened again in one step
  // A daemon that was held up, or whose timer is late, may have heard of its return first.
  const Duration late = excused_ - it.excused_until_then + kTimerLate;
  const Duration used = quota_.used(id, gpu).most - it.turn_used.least;
  return now_ - *it.held_last <= core::kRestMin + late &&
         (may_be_renewed(id, gpu) || now_ <= it.turn_since + used * 2 + core::kRestFree + late);
}

void Ledger::begin_turn(core::TenantId id, core::GpuId gpu) {
  const LedgerGpu& on = gpus_[core::index_of(gpu)];
  LedgerTenant& tenant = tenant_at(id);
  Standing& standing = tenant.on[core::index_of(gpu)];
  standing.turn_since = now_;
  standing.turn_used = quota_.used(id, gpu);
  standing.turn_adopted =
      std::any_of(tenant.clients.begin(), tenant.clients.end(), [&](core::ClientId client) {
        return slot(client, gpu)->found || slot(client, gpu)->adopted;
      });
  standing.turn_owed = tenant.priority != core::Priority::high &&
                       on.owed[static_cast<std::size_t>(tenant.priority)] >= stay_of(on.policy);
}

void Ledger::note_owed(Duration span) {
  constexpr std::array<int, core::kPriorities> kFloors = {core::kFloorShareLow,
                                                          core::kFloorShareNormal, 0};
  if (span == Duration{}) return;
  for (std::size_t index = 0; index < gpus_.size(); ++index) {
    LedgerGpu& gpu = gpus_[index];
    if (gpu.policy.mode != core::Mode::serial) {
      gpu.owed.fill(gpu.policy.window * 2);  // no more than that
      continue;
    }
    std::array<bool, core::kPriorities> waits{}, runs{};
    for (const LedgerTenant& tenant : tenants_) {
      if (!tenant.here || index >= tenant.on.size()) continue;
      const auto rank = static_cast<std::size_t>(tenant.priority);
      waits[rank] |= tenant.on[index].stands;
      runs[rank] |= tenant.on[index].held_since.has_value();
    }
    for (std::size_t rank = 0; rank < gpu.owed.size(); ++rank) {
      Duration& owed = gpu.owed[rank];
      if (waits[rank]) owed += Duration::from_ns(span.ns() * kFloors[rank] / 1000 + 1);
      if (runs[rank]) owed -= span;
      owed = std::clamp(owed, Duration{}, stay_of(gpu.policy) * 2);
    }
  }
}

bool Ledger::may_rest(core::TenantId id, core::GpuId gpu) const {
  const LedgerGpu& on = this->gpu(gpu);
  const LedgerTenant& mine = tenant(id);
  const Standing& it = standing(id, gpu);
  if (on.policy.mode != core::Mode::serial || !mine.here || mine.paused || it.swapped) return false;
  if (it.held_since ? !it.idle : !it.gave_up || !it.held_last) return false;
  const Instant since = it.idle ? it.idle_since : *it.held_last;
  if (now_ - since >= core::kRestMin) return false;
  // Half of a turn is used. Where it may be another one by now, which began with more work, that is
  // not known; nor whether the core had forgotten its turn when it came back.
  const auto half_used = [&](Instant begin, const Between<Duration>& before) {
    return now_ < begin + (quota_.used(id, gpu).most - before.least) * 2 + core::kRestFree;
  };
  if (!may_be_renewed(id, gpu) && !half_used(it.turn_since, it.turn_used) &&
      !half_used(it.held_since.value_or(it.held_before), it.held_used)) {
    return false;
  }
  if (it.turn_owed && on.owed[static_cast<std::size_t>(mine.priority)] > Duration{}) return true;
  return std::none_of(on.waiting.begin(), on.waiting.end(),
                      [&](core::TenantId other) { return tenant(other).priority > mine.priority; });
}

bool Ledger::has_use_for_turn(core::TenantId id, core::GpuId gpu) const {
  const Standing& it = standing(id, gpu);
  const Duration used = quota_.used(id, gpu).least - it.turn_used.most;
  return may_rest(id, gpu) && !it.holder_left &&
         now_ < it.turn_since + used * 2 + core::kRestFree &&
         now_ < it.turn_since + stay_of(this->gpu(gpu).policy);
}

void Ledger::refresh_all(core::TenantId id) {
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) refresh(id, core::GpuId{gpu});
}

}  // namespace nvs::sim
