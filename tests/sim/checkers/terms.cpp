// SPDX-License-Identifier: Apache-2.0
// While another tenant waits, everyone whose window is open knows it and keeps its queue short;
// when nobody else was about for a while, nobody's queue is bounded. Whoever has a cap says when it
// is idle at any time, and where there are no windows so do all beside it.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class Terms : public Checker {
 public:
  Terms() : Checker("terms") {}

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuId id{index};
      for (const core::ClientId client : ledger.gpu(id).open) {
        const Slot& slot = *ledger.slot(client, id);
        // One that was found open has no terms yet.
        if (slot.gate == Slot::Gate::open && !slot.found && !slot.loose) {
          judge(ledger, id, client, slot);
        }
      }
    }
  }

 private:
  void judge(const Ledger& ledger, core::GpuId id, core::ClientId client, const Slot& slot) {
    const LedgerGpu& gpu = ledger.gpu(id);
    const core::TenantId mine = ledger.client(client)->tenant;
    const std::string where = text(client) + " of " + text(mine) + " on " + text(id);
    const bool capped = ledger.quota().has_account(mine, id);
    if (slot.terms.capped != capped) {
      complain(where + (capped ? " is not told that it has a cap" : " is told of a cap"));
    }
    if (gpu.policy.mode == core::Mode::concurrent) {
      const bool counted = ledger.quota().accounts(id) > 0;
      if (slot.terms.bounded() && !counted) complain(where + " is bounded in concurrent mode");
      if (!slot.terms.bounded() && counted) complain(where + " does not say when it is idle");
      return;
    }
    if (capped && !slot.terms.bounded()) complain(where + " has a cap and no bound");
    if (const auto other = waits_for(ledger, gpu, mine)) {
      if (!slot.terms.bounded() || !slot.terms.awaited) {
        complain(where + " is not told that another tenant waits, " + text(*other));
      }
    } else if (slot.terms.awaited && !anyone_paused(ledger) && !ledger.lacks_memory(id, mine) &&
               !may_wait(ledger, gpu, mine)) {
      complain(where + " is told that somebody waits, and nobody does");
    }
  }

  static std::optional<core::TenantId> waits_for(const Ledger& ledger, const LedgerGpu& gpu,
                                                 core::TenantId mine) {
    for (const core::TenantId other : gpu.waiting) {
      // A gang may lack memory on another GPU, and is not waited with here.
      if (other != mine && !ledger.may_lack_memory(other)) return other;
    }
    return std::nullopt;
  }

  static bool may_wait(const Ledger& ledger, const LedgerGpu& gpu, core::TenantId mine) {
    for (const core::TenantId other : gpu.waiting) {
      if (other != mine && ledger.may_lack_memory(other)) return true;
    }
    return false;
  }

  static bool anyone_paused(const Ledger& ledger) {
    for (const LedgerTenant& tenant : ledger.tenants()) {
      if (tenant.here && tenant.paused) return true;
    }
    return false;
  }
};

}  // namespace

std::unique_ptr<Checker> make_terms() { return std::make_unique<Terms>(); }

}  // namespace nvs::sim
