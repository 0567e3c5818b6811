// SPDX-License-Identifier: Apache-2.0
// How tenants stand on each GPU, in the ledger: what their clients add up to.
#include <algorithm>
#include <utility>
#include <vector>

#include "ledger.h"

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
    const Instant last_change = std::exchange(on.last_change, now_);
    if (holds_it) {
      // Given up and opened again in one step: the same window goes on.
      const bool goes_on = standing.held_last == now_;
      standing.held_since = goes_on ? standing.held_before : now_;
      // A daemon that was held up may have heard of its return first.
      const bool rested = on.policy.mode == core::Mode::serial && standing.gave_up &&
                          standing.held_last == last_change &&
                          now_ - last_change <= core::kRestMin + longest_excuse_;
      if (!goes_on && !rested) standing.turn_since = now_;
    } else {
      standing.held_last = now_;
      standing.held_before = *standing.held_since;
      standing.held_since.reset();
    }
  }
  standing.wants = wants && !holds_it && !tenant.paused;
  note_quota(id, gpu);
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

bool Ledger::may_rest(core::TenantId id, core::GpuId gpu) const {
  const LedgerGpu& on = this->gpu(gpu);
  const LedgerTenant& mine = tenant(id);
  const Standing& it = standing(id, gpu);
  if (on.policy.mode != core::Mode::serial || !mine.here || mine.paused || it.swapped) return false;
  if (it.held_since ? !it.idle : !it.gave_up || !it.held_last) return false;
  const Instant since = it.idle ? it.idle_since : *it.held_last;
  return now_ - since < core::kRestMin &&
         std::none_of(on.waiting.begin(), on.waiting.end(),
                      [&](core::TenantId other) { return tenant(other).priority > mine.priority; });
}

void Ledger::refresh_all(core::TenantId id) {
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) refresh(id, core::GpuId{gpu});
}

}  // namespace nvs::sim
