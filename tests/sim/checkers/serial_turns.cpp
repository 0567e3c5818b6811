// SPDX-License-Identifier: Apache-2.0
// In serial mode a tenant keeps the GPU for its whole turn, unless it has nothing to do, has had
// its share, somebody pauses it or changes the policy, or it is part of a gang. A window from
// before the daemon started is no turn. Nor does anybody else get a window when it pauses for a
// moment; but for a gang, which may not start there all the same.
#include <algorithm>
#include <optional>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class SerialTurns : public Checker {
 public:
  SerialTurns() : Checker("serial_turns") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    if (const auto* open = std::get_if<core::OpenWindow>(&effect)) judge(ledger, *open);
    const auto* close = std::get_if<core::CloseWindow>(&effect);
    const Slot* slot = close != nullptr ? ledger.slot(close->client, close->gpu) : nullptr;
    if (slot == nullptr || slot->found || slot->loose) return;
    const LedgerGpu& gpu = ledger.gpu(close->gpu);
    const core::TenantId tenant = ledger.client(close->client)->tenant;
    const Standing& standing = ledger.standing(tenant, close->gpu);
    if (gpu.policy.mode != core::Mode::serial || !standing.held_since || standing.idle) return;
    if (is_excused(ledger, tenant, close->gpu)) return;
    const Duration turn = gpu.policy.turn.value_or(core::kSerialTurn);
    const Duration held = ledger.now() - standing.turn_since;
    if (held >= turn) return;
    complain("turn of " + text(tenant) + " on " + text(close->gpu) + " ended after " + text(held) +
             " of " + text(turn));
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    if (ledger.gang_stands()) gang_stood_ = ledger.now();
  }

 private:
  void judge(const Ledger& ledger, const core::OpenWindow& open) {
    const core::TenantId taker = ledger.client(open.client)->tenant;
    const LedgerGpu& gpu = ledger.gpu(open.gpu);
    // One that is found open waits for nobody, and turns in memory may be over sooner.
    const Slot& slot = *ledger.slot(open.client, open.gpu);
    if (slot.found || slot.adopted || !gpu.fits() || ledger.is_short(open.gpu)) return;
    if (ledger.may_be_gang(taker) || ledger.holds(taker, open.gpu)) return;
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId tenant{number};
      if (tenant == taker || !ledger.tenant(tenant).here) continue;
      const Standing& standing = ledger.standing(tenant, open.gpu);
      if (!ledger.has_use_for_turn(tenant, open.gpu) || standing.held_since) continue;
      if (gpu.changes != standing.change) continue;  // somebody has had it since
      // Whether a turn that was owed is kept from a higher class depends on what is left of that.
      if (ledger.tenant(taker).priority > ledger.tenant(tenant).priority) continue;
      if (a_higher_class_waits(ledger, tenant, gpu)) continue;
      if (is_excused(ledger, tenant, open.gpu) || gang_stood_ >= standing.held_last) continue;
      complain("window of " + text(taker) + " on " + text(open.gpu) + " in a turn of " +
               text(tenant) + ", which paused for " + text(ledger.now() - *standing.held_last));
    }
  }

  static bool a_higher_class_waits(const Ledger& ledger, core::TenantId mine,
                                   const LedgerGpu& gpu) {
    return std::any_of(gpu.waiting.begin(), gpu.waiting.end(), [&](core::TenantId other) {
      return ledger.tenant(other).priority > ledger.tenant(mine).priority;
    });
  }

  static bool is_excused(const Ledger& ledger, core::TenantId tenant, core::GpuId id) {
    if (ledger.tenant(tenant).paused || ledger.may_be_gang(tenant)) return true;
    if (ledger.quota().may_be_throttled(tenant, id) || ledger.gang_stands()) return true;
    if (ledger.gpu(id).policy_since >= ledger.standing(tenant, id).turn_since) return true;
    if (has_adopted(ledger, tenant, id)) return true;
    // There is less memory than before, or more that cannot be moved: it may have to go.
    return !ledger.can_fit(id, tenant) || ledger.is_hampered(id);
  }

  static bool has_adopted(const Ledger& ledger, core::TenantId tenant, core::GpuId gpu) {
    if (ledger.standing(tenant, gpu).turn_adopted) return true;
    for (const core::ClientId client : ledger.tenant(tenant).clients) {
      if (ledger.slot(client, gpu)->adopted) return true;
    }
    return false;
  }

  std::optional<Instant> gang_stood_;  // when one last did
};

}  // namespace

std::unique_ptr<Checker> make_serial_turns() { return std::make_unique<SerialTurns>(); }

}  // namespace nvs::sim
