// SPDX-License-Identifier: Apache-2.0
// What was set while running, in the ledger, and what follows from caps.
#include <algorithm>
#include <utility>

#include "ledger.h"

namespace nvs::sim {

void Ledger::on(const core::PolicySet& event) {
  if (!knows(event.gpu)) return;
  gpus_[core::index_of(event.gpu)].policy = event.policy;
  gpus_[core::index_of(event.gpu)].policy_since = now_;
  quota_.set_policy(event.gpu, event.policy);
}

void Ledger::on(const core::PrioritySet& event) {
  if (!tenant(event.tenant).here || tenant(event.tenant).priority == event.priority) return;
  tenant_at(event.tenant).priority = event.priority;
  for (Standing& standing : tenant_at(event.tenant).on) standing.turn_owed = false;
}

void Ledger::on(const core::WeightSet& event) {
  if (tenant(event.tenant).here) tenant_at(event.tenant).weight = event.weight;
}

void Ledger::on(const core::TenantPaused& event) {
  if (!tenant(event.tenant).here) return;
  tenant_at(event.tenant).paused = true;
  refresh_all(event.tenant);
}

void Ledger::on(const core::TenantResumed& event) {
  if (!tenant(event.tenant).here) return;
  tenant_at(event.tenant).paused = false;
  refresh_all(event.tenant);
}

void Ledger::on(const core::CapSet& event) {
  if (!tenant(event.tenant).here) return;
  look_at_periods(Moment::before);
  quota_.set_cap(event.tenant, event.cap);
  refresh_all(event.tenant);
}

void Ledger::on(const core::CreditSet& event) {
  if (tenant(event.tenant).here && knows(event.gpu)) {
    quota_.set_credit(event.tenant, event.gpu, event.credit);
  }
}

void Ledger::note_quota(core::TenantId id, core::GpuId gpu) {
  const LedgerTenant& one = tenant(id);
  LedgerQuota::State state;
  state.paused = one.paused;
  for (const core::ClientId it : one.clients) {
    const Slot& slot = clients_[static_cast<std::size_t>(it)].slots[core::index_of(gpu)];
    const bool works = slot.gate != Slot::Gate::closed && !slot.idle;
    state.wants |= slot.wants && slot.gate == Slot::Gate::closed;
    state.asks |= slot.memory.asked > 0;
    state.holds |= holds(slot);
    state.beside |= slot.gate != Slot::Gate::closed && !holds(slot);
    state.closing |= holds(slot) && slot.gate == Slot::Gate::closing;
    // One that does not answer is not at work, as far as is known; but it may have been heard of.
    state.busy.least += works && !slot.given_up ? 1 : 0;
    state.busy.most += works ? 1 : 0;
    state.chosen |= works && holds(slot) && slot.gate == Slot::Gate::open;
  }
  quota_.set_state(id, gpu, state);
}

// Where memory is had in turns a cap holds over a whole round. How long that is, is for the core to
// say.
Between<Duration> Ledger::period(core::GpuId id) const {
  const LedgerGpu& gpu = this->gpu(id);
  const Duration least = gpu.policy.quota_period;
  const bool tight = !gpu.fits() || is_short(id) || is_hampered(id);
  return {least, !gpu.memory.empty() && tight ? core::kQuotaPeriodMax : least};
}

// For so long others may have the GPU until it is one's turn.
Between<Duration> Ledger::round(core::GpuId id) const {
  const LedgerGpu& gpu = this->gpu(id);
  const auto [least, most] = period(id);
  if (gpu.policy.mode != core::Mode::serial) return {least, most};
  Between<std::int64_t> present;
  // Whoever has gone may be back, and counts for a while: from when the core does not keep its
  // place any more.
  const auto lately = [this](const std::optional<Instant>& at) {
    return at && now_ - *at < core::kPresence + core::kGangMemory + longest_excuse_;
  };
  bool gone = lately(gpu.found);
  for (std::size_t number = 0; number < tenants_.size(); ++number) {
    const LedgerQuota::State& state = quota_.state(core::TenantId{number}, id);
    const bool wants = state.wants && !state.paused;
    // A gang may keep what it does not use, and one that pauses its turn.
    const core::TenantId tenant{number};
    const bool kept =
        standing(tenant, id).held_last.has_value() && (may_be_gang(tenant) || may_rest(tenant, id));
    present.least += state.holds || (wants && gpu.memory.empty()) ? 1 : 0;
    present.most += state.holds || state.wants || state.beside || state.asks || kept ? 1 : 0;
    gone = gone || (this->tenant(tenant).here && (kept || lately(standing(tenant, id).gone_since)));
  }
  present.most += gone ? 1 : 0;
  const Duration turn =
      std::min(gpu.policy.turn.value_or(core::kSerialTurn), core::kQuotaPeriodMax);
  return {present.least > 1 ? std::max(least, turn * present.least) : least,
          present.most > 1 ? std::max(most, turn * present.most) : most};
}

// In the middle of a step the core may see it as it was before, or as it is after that.
void Ledger::note_periods(Moment moment) {
  if (quota_.has_caps()) look_at_periods(moment);
}

void Ledger::look_at_periods(Moment moment) {
  for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
    const core::GpuId id{index};
    LedgerGpu& gpu = gpus_[index];
    const auto look = [moment](Between<Duration>& all, const Between<Duration>& now) {
      if (moment == Moment::before) all = now;
      all = {std::min(all.least, now.least), std::max(all.most, now.most)};
    };
    look(gpu.period, period(id));
    look(gpu.round, round(id));
    quota_.set_period(id, gpu.period, gpu.round);
  }
}

void Ledger::place_throttled() {
  for (const core::TenantId id : quota_.take_changed()) refresh_all(id);
}

}  // namespace nvs::sim
