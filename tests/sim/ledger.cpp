// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <algorithm>
#include <utility>

namespace nvs::sim {
namespace {

template <class Id>
std::size_t number(Id id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

void Ledger::apply(Instant now, const core::Event& event) {
  note_owed(std::max(now_, now) - now_);
  now_ = std::max(now_, now);
  // The core looks at what time alone has ended when it is told that time has passed.
  const bool ticked = std::holds_alternative<core::Tick>(event);
  quota_.begin(now_, ticked);
  if (ticked) give_up_silent();
  note_periods(Moment::before);
  std::visit([this](const auto& item) { on(item); }, event);
  note_periods(Moment::after);
  quota_.end(ticked);
  place_throttled();
}

void Ledger::apply(Instant now, const core::Effect& effect) {
  now_ = std::max(now_, now);
  std::visit([this](const auto& item) { on(item); }, effect);
  quota_.end(false);
  place_throttled();
}

const LedgerTenant& Ledger::tenant(core::TenantId id) const {
  static const LedgerTenant nobody;
  return number(id) < tenants_.size() ? tenants_[number(id)] : nobody;
}

const Standing& Ledger::standing(core::TenantId id, core::GpuId gpu) const {
  static const Standing nothing;
  const LedgerTenant& found = tenant(id);
  return core::index_of(gpu) < found.on.size() ? found.on[core::index_of(gpu)] : nothing;
}

const LedgerClient* Ledger::client(core::ClientId id) const {
  return number(id) < clients_.size() && number(clients_[number(id)].tenant) != 0
             ? &clients_[number(id)]
             : nullptr;
}

const Slot* Ledger::slot(core::ClientId id, core::GpuId gpu) const {
  const LedgerClient* found = client(id);
  if (found == nullptr || !found->here || !knows(gpu)) return nullptr;
  return &found->slots[core::index_of(gpu)];
}

bool Ledger::is_silent(const Slot& slot) const {
  return slot.gate == Slot::Gate::closing &&
         (now_ - slot.heard >= core::kSilenceMax || now_ - slot.closing_since >= core::kDrainMax);
}

bool Ledger::holds(const Slot& slot) const {
  return slot.gate != Slot::Gate::closed && !slot.loose && !slot.given_up;
}

bool Ledger::may_be_gang(core::TenantId id) const {
  if (gpus_.size() < 2) return false;
  int count = 0;
  for (std::uint32_t gpu = 0; gpu < tenant(id).on.size(); ++gpu) {
    const Standing& one = tenant(id).on[gpu];
    // What ended by time alone is noticed when the core looks next: a window or turn later.
    const core::GpuPolicy& policy = gpus_[gpu].policy;
    const Duration look = std::max(policy.window, policy.turn.value_or(policy.window)) * 2;
    const bool recent = one.held_last && now_ - *one.held_last <= core::kGangMemory + look;
    const auto& clients = tenant(id).clients;
    const bool left_behind = std::any_of(clients.begin(), clients.end(), [&](core::ClientId it) {
      const Slot& slot = clients_[number(it)].slots[gpu];
      return slot.gate != Slot::Gate::closed && (slot.given_up || slot.loose);
    });
    count += one.wants || one.waits_since || one.held_since || recent || left_behind ? 1 : 0;
  }
  return count > 1;
}

Duration Ledger::slowest_drain(core::GpuId gpu) const {
  Duration slowest = this->gpu(gpu).longest_drain;
  for (const core::ClientId id : this->gpu(gpu).open) {
    const Slot& slot = *this->slot(id, gpu);
    if (slot.gate != Slot::Gate::closing || slot.given_up) continue;
    slowest = std::max(slowest, now_ - slot.closing_since);
  }
  return slowest;
}

bool Ledger::stands(core::TenantId id) const {
  const std::vector<Standing>& on = tenant(id).on;
  return std::any_of(on.begin(), on.end(), [](const Standing& one) { return one.stands; });
}

bool Ledger::gang_stands() const {
  for (std::size_t id = 0; id < tenants_.size(); ++id) {
    if (stands(core::TenantId{id}) && may_be_gang(core::TenantId{id})) return true;
  }
  return false;
}

// Time alone ends the hold of a client that does not answer.
void Ledger::give_up_silent() {
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    for (const core::ClientId id : gpus_[gpu].open) {
      Slot& slot = clients_[number(id)].slots[gpu];
      if (slot.given_up || !is_silent(slot)) continue;
      finish_drain(slot, core::GpuId{gpu});  // nobody waits for it any longer
      slot.given_up = true;
      tenant_at(clients_[number(id)].tenant).on[gpu].gave_up = false;
      refresh(clients_[number(id)].tenant, core::GpuId{gpu});
    }
  }
}

template <class T>
Slot* Ledger::slot_of(const T& item) {
  return const_cast<Slot*>(slot(item.client, item.gpu));
}

template <class T>
Slot* Ledger::current(const T& item) {
  Slot* found = slot_of(item);
  return found != nullptr && found->gate != Slot::Gate::closed && found->grant == item.grant
             ? found
             : nullptr;
}

LedgerTenant& Ledger::tenant_at(core::TenantId id) {
  if (tenants_.size() <= number(id)) tenants_.resize(number(id) + 1);
  tenants_[number(id)].on.resize(gpus_.size());
  return tenants_[number(id)];
}

void Ledger::on(const core::GpuAdded& event) {
  gpus_.resize(core::index_of(event.gpu) + 1);
  gpus_[core::index_of(event.gpu)].capacity = event.capacity_bytes;
  gpus_[core::index_of(event.gpu)].policy = event.policy;
  gpus_[core::index_of(event.gpu)].policy_since = now_;
  quota_.add_gpu();
  quota_.set_policy(event.gpu, event.policy);
}

void Ledger::on(const core::ClientJoined& event) {
  if (clients_.size() <= number(event.client)) clients_.resize(number(event.client) + 1);
  LedgerTenant& tenant = tenant_at(event.tenant);
  if (!tenant.here) {
    tenant.here = true;
    tenant.priority = event.priority;
    tenant.weight = event.weight;
    look_at_periods(Moment::before);
    quota_.set_cap(event.tenant, event.cap);
  }
  tenant.clients.push_back(event.client);
  LedgerClient& client = clients_[number(event.client)];
  client.here = true;
  client.tenant = event.tenant;
  client.slots.resize(gpus_.size());
}

void Ledger::leave(core::ClientId id) {
  if (client(id) == nullptr || !client(id)->here) return;
  LedgerClient& left = clients_[number(id)];
  left.here = false;
  LedgerTenant& tenant = tenant_at(left.tenant);
  std::erase(tenant.clients, id);
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (left.slots[gpu].memory.told) gpus_[gpu].shortage.reset();  // that may have been its doing
    if (holds(left.slots[gpu])) tenant.on[gpu].holder_left = true;
    std::erase(gpus_[gpu].open, id);
    std::erase(gpus_[gpu].memory, id);
    add_up(core::GpuId{gpu});
  }
  refresh_all(left.tenant);
  tenant.here = !tenant.clients.empty();
  if (!tenant.here) quota_.forget(left.tenant);
}

void Ledger::on(const core::Wanted& event) {
  Slot* slot = slot_of(event);
  if (slot == nullptr) return;
  // On an open gate it was sent before the window opened: those who waited are through.
  if (slot->gate == Slot::Gate::open) {
    slot->idle = false;
  } else {
    slot->wants = true;
  }
  quota_.need_account(client(event.client)->tenant, event.gpu);
  refresh(client(event.client)->tenant, event.gpu);
}

template <class Event>
void Ledger::set_idle(const Event& event, bool idle, Duration since) {
  Slot* slot = current(event);
  if (slot == nullptr) return;
  const core::TenantId tenant = client(event.client)->tenant;
  const LedgerQuota::Before before = quota_.before(tenant, event.gpu);
  slot->idle = idle;
  refresh(tenant, event.gpu);
  quota_.backdate(tenant, event.gpu, before, since);
}

void Ledger::on(const core::WentIdle& event) { set_idle(event, true, event.quiet); }
void Ledger::on(const core::WentBusy& event) { set_idle(event, false, event.since); }

void Ledger::finish_drain(Slot& slot, core::GpuId gpu) {
  const Duration took = std::min(now_ - slot.closing_since, core::kSilenceMax * 10);
  Duration& longest = gpus_[core::index_of(gpu)].longest_drain;
  longest = std::max(longest, took);
}

void Ledger::on(const core::Drained& event) {
  Slot* slot = current(event);
  if (slot == nullptr) {
    // Of an earlier window; but threads stand at its gate all the same.
    if (Slot* closed = slot_of(event); closed != nullptr && closed->grant == event.grant) {
      if (std::exchange(closed->let_in, false)) closed->wants = event.waiting;
      refresh(client(event.client)->tenant, event.gpu);
    }
    if (event.waiting) on(core::Wanted{event.client, event.gpu});
    return;
  }
  const core::TenantId tenant = client(event.client)->tenant;
  const LedgerQuota::Before before = quota_.before(tenant, event.gpu);
  // One that is idle gives its window up unasked while somebody waits. Whether one drains that was
  // not waited for makes no difference.
  Standing& standing = tenant_at(tenant).on[core::index_of(event.gpu)];
  if (holds(*slot)) standing.gave_up = slot->gate == Slot::Gate::open;
  if (slot->gate == Slot::Gate::closing) finish_drain(*slot, event.gpu);
  slot->gate = Slot::Gate::closed;
  slot->wants = slot->wants || event.waiting;
  slot->found = slot->adopted = slot->loose = slot->given_up = slot->idle = slot->stalled = false;
  std::erase(gpus_[core::index_of(event.gpu)].open, event.client);
  refresh(tenant, event.gpu);
  quota_.backdate(tenant, event.gpu, before, event.quiet);
}

void Ledger::on(const core::StillDraining& event) {
  if (Slot* slot = current(event)) hear(*slot);
}

void Ledger::on(const core::DrainStalled& event) {
  Slot* slot = current(event);
  if (slot == nullptr) return;
  hear(*slot);
  slot->stalled = slot->gate == Slot::Gate::closing;
}

void Ledger::on(const core::DrainRefused& event) {
  Slot* slot = slot_of(event);
  if (slot == nullptr || slot->grant != event.grant) return;
  if (slot->gate == Slot::Gate::closing) {
    finish_drain(*slot, event.gpu);
  } else if (slot->let_in) {
    // What it was let in with does not get done: its gate is open.
    gpus_[core::index_of(event.gpu)].open.push_back(event.client);
  } else {
    return;
  }
  slot->gate = Slot::Gate::open;
  slot->loose = true;
  slot->given_up = slot->idle = slot->wants = slot->stalled = slot->let_in = false;
  refresh(client(event.client)->tenant, event.gpu);
}

void Ledger::on(const core::FoundOpen& event) {
  Slot* slot = slot_of(event);
  if (slot == nullptr || slot->gate != Slot::Gate::closed) return;
  slot->gate = Slot::Gate::open;
  slot->found = true;
  slot->late = !event.in_time;
  gpus_[core::index_of(event.gpu)].found = now_;
  quota_.need_account(client(event.client)->tenant, event.gpu);
  gpus_[core::index_of(event.gpu)].open.push_back(event.client);
  refresh(client(event.client)->tenant, event.gpu);
}

void Ledger::on(const core::OpenWindow& effect) {
  Slot* slot = slot_of(effect);
  if (slot == nullptr) return;
  if (slot->gate == Slot::Gate::closed) {
    gpus_[core::index_of(effect.gpu)].open.push_back(effect.client);
  }
  slot->gate = Slot::Gate::open;
  slot->grant = effect.grant;
  slot->terms = effect.terms;
  // One that did not ask is in the window because others of its tenant did.
  slot->idle = !slot->wants && !slot->found;
  slot->adopted = slot->found;
  slot->wants = slot->loose = slot->given_up = slot->found = slot->let_in = false;
  refresh(client(effect.client)->tenant, effect.gpu);
}

void Ledger::on(const core::ChangeTerms& effect) {
  if (Slot* slot = slot_of(effect)) slot->terms = effect.terms;
}

void Ledger::on(const core::CloseWindow& effect) {
  Slot* slot = slot_of(effect);
  if (slot == nullptr || slot->gate != Slot::Gate::open) return;
  slot->gate = Slot::Gate::closing;
  // Nobody waits for it, as for one that did not answer.
  slot->given_up = slot->found && slot->late;
  slot->grant = effect.grant;
  slot->closing_since = slot->heard = now_;
  refresh(client(effect.client)->tenant, effect.gpu);
}

void Ledger::on(const core::LetOneIn& effect) {
  Slot* slot = slot_of(effect);
  if (slot == nullptr || slot->gate != Slot::Gate::closed) return;
  slot->grant = effect.grant;
  slot->let_in = true;
  // Until that has drained it may have to go from memory without having been told.
  refresh(client(effect.client)->tenant, effect.gpu);
}

}  // namespace nvs::sim
