// SPDX-License-Identifier: Apache-2.0
// While all that clients have and ask for fits, nobody is told to move anything out.
#include <algorithm>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class NoNeedlessMoves : public Checker {
 public:
  NoNeedlessMoves() : Checker("no_needless_moves") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* allow = std::get_if<core::SetAllowance>(&effect);
    const Slot* slot = allow != nullptr ? ledger.slot(allow->client, allow->gpu) : nullptr;
    if (slot == nullptr || allow->bytes >= slot->memory.resident) return;
    const LedgerGpu& gpu = ledger.gpu(allow->gpu);
    // Less is allowed than it has because it allocated more meanwhile, or was away before.
    if (allow->bytes >= slot->memory.allowed() && !slot->memory.allowances.empty()) return;
    if (!gpu.fits() || ledger.is_hampered(allow->gpu)) return;
    if (ledger.is_short(allow->gpu)) return;
    // Those that have not answered yet may have more than they need.
    std::uint64_t taken = 0;
    for (const core::ClientId client : gpu.memory) {
      const SlotMemory& memory = ledger.slot(client, allow->gpu)->memory;
      taken += std::max(memory.need(), memory.committed()) + memory.fixed;
    }
    if (taken > gpu.capacity) return;
    complain(text(allow->client) + " is told to move memory out of " + text(allow->gpu) +
             ", where all fit");
  }
};

}  // namespace

std::unique_ptr<Checker> make_no_needless_moves() { return std::make_unique<NoNeedlessMoves>(); }

}  // namespace nvs::sim
