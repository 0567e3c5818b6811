// SPDX-License-Identifier: Apache-2.0
// The ledger's books of memory.
#include <algorithm>

#include "ledger.h"

namespace nvs::sim {
namespace {

// The core tries half of what was short every 10 s.
constexpr Duration kShortageRemembered = Duration::from_s(120);

}  // namespace

std::uint64_t SlotMemory::committed() const {
  std::uint64_t most = resident;
  for (const auto& [number, bytes] : allowances) most = std::max(most, bytes);
  return most;
}

bool SlotMemory::is_swapped() const {
  if (!told) return false;
  return away > 0 || std::any_of(allowances.begin(), allowances.end(),
                                 [this](const auto& one) { return one.second < resident; });
}

bool Ledger::note_swapped(core::TenantId id) {
  LedgerTenant& tenant = tenant_at(id);
  bool any = false, closes = false;
  for (const core::ClientId client : tenant.clients) {
    for (const Slot& slot : clients_[static_cast<std::size_t>(client)].slots) {
      any = any || slot.memory.told;
      closes = closes || slot.let_in || (slot.gate == Slot::Gate::closing && holds(slot));
    }
  }
  for (std::uint32_t gpu = 0; gpu < tenant.on.size(); ++gpu) {
    bool& swapped = tenant.on[gpu].swapped = false;
    for (const core::ClientId client : tenant.clients) {
      const SlotMemory& memory = clients_[static_cast<std::size_t>(client)].slots[gpu].memory;
      // It may have to go, and be told so when it has drained everywhere.
      const bool is_tight =
          !gpus_[gpu].fits() || is_short(core::GpuId{gpu}) || is_hampered(core::GpuId{gpu});
      const bool may_go = memory.told && closes && is_tight;
      swapped = swapped || memory.is_swapped() || may_go;
    }
  }
  return any;
}

void Ledger::add_up(core::GpuId gpu) {
  LedgerGpu& on = gpus_[core::index_of(gpu)];
  on.needed = 0;
  for (const core::ClientId client : on.memory) {
    const SlotMemory& memory = slot(client, gpu)->memory;
    on.needed += memory.need() + memory.fixed;
  }
}

std::uint64_t Ledger::committed(core::GpuId id) const {
  std::uint64_t sum = 0;
  for (const core::ClientId client : gpu(id).memory) {
    const SlotMemory& memory = slot(client, id)->memory;
    // One that does not answer is taken by its last word.
    const bool gone =
        memory.lacks_answer() && now_ - std::max(memory.heard, memory.sent) >= core::kMoveStall;
    sum += (gone ? memory.resident : memory.committed()) + memory.fixed;
  }
  return sum;
}

bool Ledger::lacks_memory(core::GpuId id, core::TenantId but) const {
  for (const LedgerTenant& tenant : tenants_) {
    if (!tenant.here || core::index_of(id) >= tenant.on.size()) continue;
    const Standing& standing = tenant.on[core::index_of(id)];
    const bool mine = &tenant == &this->tenant(but);
    if (!mine && standing.stands && !standing.waits_since) return true;
  }
  for (const core::ClientId client : gpu(id).memory) {
    const core::TenantId tenant = this->client(client)->tenant;
    if (tenant != but && standing(tenant, id).lacks_since) return true;
  }
  return false;
}

bool Ledger::may_lack_memory(core::TenantId id) const {
  if (!may_be_gang(id)) return false;
  for (const core::ClientId one : tenant(id).clients) {
    for (const Slot& slot : clients_[static_cast<std::size_t>(one)].slots) {
      if (slot.memory.told) return true;
    }
  }
  return false;
}

bool Ledger::is_short(core::GpuId id) const {
  const std::optional<Instant>& since = gpu(id).shortage;
  return since && now_ - *since < kShortageRemembered;
}

bool Ledger::can_fit(core::GpuId id, core::TenantId mine) const {
  std::uint64_t needed = 0;
  for (const core::ClientId one : gpu(id).memory) {
    const SlotMemory& memory = slot(one, id)->memory;
    needed += memory.fixed;
    if (client(one)->tenant == mine) needed += memory.need();
  }
  return needed <= gpu(id).capacity && !is_short(id);
}

bool SlotMemory::is_late(Instant now) const {
  const bool moves = lacks_answer() || allowed() < resident || (away > 0 && allowed() > resident);
  return moves && now - std::max(heard, sent) > core::kMoveStall / 2;
}

bool Ledger::is_hampered(core::GpuId id) const {
  const LedgerGpu& on = gpu(id);
  for (const core::ClientId client : on.memory) {
    const SlotMemory& memory = slot(client, id)->memory;
    if (memory.stalled || memory.stays || memory.is_late(now_)) return true;
  }
  return std::any_of(on.open.begin(), on.open.end(), [&](core::ClientId client) {
    const Slot& one = *slot(client, id);
    return one.loose || one.given_up;
  });
}

void Ledger::on(const core::MemoryHeld& event) {
  Slot* slot = const_cast<Slot*>(this->slot(event.client, event.gpu));
  if (slot == nullptr) return;
  LedgerGpu& gpu = gpus_[core::index_of(event.gpu)];
  SlotMemory& memory = slot->memory;
  if (!memory.told) gpu.memory.push_back(event.client);
  quota_.need_account(client(event.client)->tenant, event.gpu);
  memory.told = true;
  memory.resident = event.resident;
  memory.away = event.away;
  memory.fixed = event.fixed;
  memory.asked = event.asked;
  memory.stays = event.stays;
  memory.heard = now_;
  if (event.is_faulted) slot->wants = false;  // its gate is open for good
  if (!memory.allowances.empty() && event.number <= memory.allowances.back().first) {
    std::erase_if(memory.allowances,
                  [&event](const auto& sent) { return sent.first < event.number; });
    memory.stalled = memory.stalled && memory.lacks_answer();
  }
  if (event.is_short) gpu.shortage = now_;
  add_up(event.gpu);
  refresh(client(event.client)->tenant, event.gpu);
}

void Ledger::on(const core::CapacitySet& event) {
  if (!knows(event.gpu)) return;
  gpus_[core::index_of(event.gpu)].capacity = event.bytes;
  gpus_[core::index_of(event.gpu)].shortage.reset();
}

void Ledger::on(const core::SetAllowance& effect) {
  Slot* slot = const_cast<Slot*>(this->slot(effect.client, effect.gpu));
  if (slot == nullptr) return;
  SlotMemory& memory = slot->memory;
  memory.stalled = memory.stalled || memory.is_late(now_);
  memory.allowances.emplace_back(effect.number, effect.bytes);
  memory.sent = now_;
  refresh(client(effect.client)->tenant, effect.gpu);
}

}  // namespace nvs::sim
