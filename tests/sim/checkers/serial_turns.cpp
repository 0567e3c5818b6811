// SPDX-License-Identifier: Apache-2.0
// In serial mode a tenant keeps the GPU for its whole turn, unless it has nothing to do, has had
// its share, somebody pauses it or changes the policy, or it is part of a gang. A window from
// before the daemon started is no turn.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class SerialTurns : public Checker {
 public:
  SerialTurns() : Checker("serial_turns") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* close = std::get_if<core::CloseWindow>(&effect);
    const Slot* slot = close != nullptr ? ledger.slot(close->client, close->gpu) : nullptr;
    if (slot == nullptr || slot->found || slot->loose) return;
    const LedgerGpu& gpu = ledger.gpu(close->gpu);
    const core::TenantId tenant = ledger.client(close->client)->tenant;
    const Standing& standing = ledger.standing(tenant, close->gpu);
    if (gpu.policy.mode != core::Mode::serial || !standing.held_since || standing.idle) return;
    if (ledger.tenant(tenant).paused || ledger.may_be_gang(tenant)) return;
    if (ledger.quota().may_be_throttled(tenant, close->gpu)) return;
    if (gpu.policy_since >= *standing.held_since || ledger.gang_stands()) return;
    if (has_adopted(ledger, tenant, close->gpu)) return;
    // There is less memory than before, or more that cannot be moved: it may have to go.
    if (!ledger.can_fit(close->gpu, tenant) || ledger.is_hampered(close->gpu)) return;
    const Duration turn = gpu.policy.turn.value_or(core::kSerialTurn);
    const Duration held = ledger.now() - *standing.held_since;
    if (held >= turn) return;
    complain("turn of " + text(tenant) + " on " + text(close->gpu) + " ended after " + text(held) +
             " of " + text(turn));
  }

 private:
  static bool has_adopted(const Ledger& ledger, core::TenantId tenant, core::GpuId gpu) {
    for (const core::ClientId client : ledger.tenant(tenant).clients) {
      if (ledger.slot(client, gpu)->adopted) return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<Checker> make_serial_turns() { return std::make_unique<SerialTurns>(); }

}  // namespace nvs::sim
