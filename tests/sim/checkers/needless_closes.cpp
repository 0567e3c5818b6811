// SPDX-License-Identifier: Apache-2.0
// Nothing is closed while nobody waits: a window goes to an end because another tenant waits, or
// because somebody paused the tenant or changed the policy, or because it has had its share; a
// gang's windows end together. One that its tenant does not use may go to an end for those who will
// probably come next.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// How long after a change of policy its consequences may still be under way.
constexpr Duration kPolicySettles = Duration::from_s(5);

class NeedlessCloses : public Checker {
 public:
  NeedlessCloses() : Checker("needless_closes") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* close = std::get_if<core::CloseWindow>(&effect);
    const Slot* slot = close != nullptr ? ledger.slot(close->client, close->gpu) : nullptr;
    if (slot == nullptr) return;
    const core::TenantId tenant = ledger.client(close->client)->tenant;
    if (ledger.tenant(tenant).paused || has_reason(ledger, tenant, close->gpu)) return;
    if (ledger.quota().may_be_throttled(tenant, close->gpu)) return;
    if (slot->loose && others_about(ledger, tenant, close->gpu)) return;
    // Its queue is bounded only while others are about; that is checked elsewhere.
    if (slot->terms.bounded() && is_unused(ledger, tenant, close->gpu)) return;
    if (ledger.may_be_gang(tenant) && gang_has_reason(ledger, tenant)) return;
    complain("window of " + text(tenant) + " closed on " + text(close->gpu) +
             " while nobody else waits for it");
  }

 private:
  static bool has_reason(const Ledger& ledger, core::TenantId mine, core::GpuId id) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (ledger.now() - gpu.policy_since < kPolicySettles) return true;
    if (!gpu.fits() || ledger.is_short(id)) return true;  // its memory may be needed
    for (const core::TenantId other : gpu.waiting) {
      if (other != mine) return true;
    }
    // Another tenant's window overlaps with this one, or a gang comes to take this GPU as well.
    for (const core::ClientId client : gpu.open) {
      if (ledger.client(client)->tenant != mine) return true;
    }
    return gang_comes(ledger, mine, id) || ledger.lacks_memory(id, mine);
  }

  static bool is_unused(const Ledger& ledger, core::TenantId mine, core::GpuId id) {
    for (const core::ClientId client : ledger.gpu(id).open) {
      if (ledger.client(client)->tenant != mine) continue;
      const Slot& slot = *ledger.slot(client, id);
      if (!slot.idle && !slot.given_up) return false;
    }
    return true;
  }

  // Whoever could not drain is asked again while others are about.
  static bool others_about(const Ledger& ledger, core::TenantId mine, core::GpuId id) {
    for (const LedgerTenant& other : ledger.tenants()) {
      if (!other.here || &other == &ledger.tenant(mine)) continue;
      const std::optional<Instant>& last = other.on[core::index_of(id)].held_last;
      if (last && ledger.now() - *last <= core::kPresence) return true;
    }
    return false;
  }

  static bool gang_comes(const Ledger& ledger, core::TenantId mine, core::GpuId id) {
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId other{number};
      if (other == mine || !ledger.stands(other)) continue;
      const Standing& standing = ledger.standing(other, id);
      if (standing.held_last && ledger.now() - *standing.held_last <= core::kGangMemory) {
        return true;
      }
    }
    return false;
  }

  static bool gang_has_reason(const Ledger& ledger, core::TenantId mine) {
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      if (has_reason(ledger, mine, core::GpuId{index})) return true;
      if (ledger.quota().may_be_throttled(mine, core::GpuId{index})) return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<Checker> make_needless_closes() { return std::make_unique<NeedlessCloses>(); }

}  // namespace nvs::sim
