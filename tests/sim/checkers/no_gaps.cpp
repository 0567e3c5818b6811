// SPDX-License-Identifier: Apache-2.0
// A GPU that somebody waits for is not left unused: if nobody holds it, it is given out in the same
// step; if its holder is idle, the window is closed in the same step. Gangs may keep a GPU waiting
// for the others of theirs, and in serial mode one that pauses keeps its turn for a moment.
// What time alone ends (a gang forgets a GPU a second after it lost it there) the core finds out at
// the Tick that it asked for. A daemon that was held up reads its sockets first, so until that Tick
// has come the core is not to blame; busy_loop sees to it that it leaves none behind.
#include <algorithm>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class NoGaps : public Checker {
 public:
  NoGaps() : Checker("no_gaps") {}

  void on_settled(const Ledger& ledger, const std::optional<Instant>& next_deadline) override {
    if (next_deadline && *next_deadline <= ledger.now()) return;
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuId id{index};
      if (!ledger.gpu(id).waiting.empty() && !gangs_about(ledger)) judge(ledger, id);
    }
  }

 private:
  static bool gangs_about(const Ledger& ledger) {
    if (ledger.gpus().size() < 2) return false;
    if (ledger.gang_stands()) return true;
    for (const LedgerGpu& gpu : ledger.gpus()) {
      for (const core::ClientId client : gpu.open) {
        if (ledger.may_be_gang(ledger.client(client)->tenant)) return true;
      }
    }
    return false;
  }

  static bool somebody_rests(const Ledger& ledger, core::GpuId id) {
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId tenant{number};
      if (ledger.tenant(tenant).here && ledger.may_rest(tenant, id)) return true;
    }
    return false;
  }

  void judge(const Ledger& ledger, core::GpuId id) {
    const LedgerGpu& gpu = ledger.gpu(id);
    bool held = false, working = false;
    for (const core::ClientId client : gpu.open) {
      const Slot& slot = *ledger.slot(client, id);
      held |= ledger.holds(slot);
      working |= ledger.holds(slot) && (slot.gate == Slot::Gate::closing || !slot.idle);
      // What the holder's own clients do that could not drain is work of its window.
      const bool beside = !ledger.holds(slot) && ledger.holds(ledger.client(client)->tenant, id);
      working |= beside && !slot.idle;
    }
    if (gpu.policy.mode == core::Mode::concurrent) {
      complain(text(gpu.waiting.front()) + " waits for " + text(id) + " in concurrent mode");
    } else if (!working && somebody_rests(ledger, id)) {
      return;
    } else if (!held) {
      complain(text(gpu.waiting.front()) + " waits for " + text(id) + ", which nobody holds");
    } else if (!working) {
      complain(text(gpu.waiting.front()) + " waits for " + text(id) +
               ", whose holder is idle and not asked to close");
    }
  }
};

}  // namespace

std::unique_ptr<Checker> make_no_gaps() { return std::make_unique<NoGaps>(); }

}  // namespace nvs::sim
