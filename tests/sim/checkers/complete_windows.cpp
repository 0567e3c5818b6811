// SPDX-License-Identifier: Apache-2.0
// Whoever gets a window, or is let in, has all its memory there, and nothing that it was told can
// have made it move some of it out. A gang has it on all GPUs that it wants. Those that were found
// open are open already.
#include <algorithm>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class CompleteWindows : public Checker {
 public:
  CompleteWindows() : Checker("complete_windows") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    if (const auto* open = std::get_if<core::OpenWindow>(&effect)) {
      judge(ledger, open->client, open->gpu);
      judge_gang(ledger, open->client, open->gpu);
    } else if (const auto* let_in = std::get_if<core::LetOneIn>(&effect)) {
      judge(ledger, let_in->client, let_in->gpu);
    } else if (const auto* allow = std::get_if<core::SetAllowance>(&effect)) {
      judge(ledger, *allow);
    }
  }

 private:
  void judge(const Ledger& ledger, core::ClientId client, core::GpuId gpu) {
    const Slot* slot = ledger.slot(client, gpu);
    if (slot == nullptr || slot->found || !slot->memory.is_swapped()) return;
    // One that is open may have allocated more than it was lowered to meanwhile; it stays there.
    if (slot->gate != Slot::Gate::closed && slot->memory.away == 0) return;
    complain(text(client) + " may run on " + text(gpu) + " without all its memory");
  }

  void judge_gang(const Ledger& ledger, core::ClientId client, core::GpuId gpu) {
    const LedgerClient* one = ledger.client(client);
    if (one == nullptr || !one->here || ledger.holds(one->tenant, gpu)) return;
    const Slot* slot = ledger.slot(client, gpu);
    if (slot != nullptr && slot->found) return;
    if (keeps_place(ledger, one->tenant, gpu)) return;
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuId other{index};
      if (other == gpu || ledger.holds(one->tenant, other)) continue;
      for (const core::ClientId peer : ledger.tenant(one->tenant).clients) {
        const Slot& there = *ledger.slot(peer, other);
        if (there.wants && there.gate == Slot::Gate::closed && there.memory.away > 0) {
          complain(text(one->tenant) + " has a window on " + text(gpu) + " and lacks memory on " +
                   text(other));
        }
      }
    }
  }

  // It gave its window up there and has worked elsewhere ever since: one window after the other
  // began before the last one of the others had ended.
  static bool keeps_place(const Ledger& ledger, core::TenantId tenant, core::GpuId gpu) {
    std::optional<Instant> until = ledger.standing(tenant, gpu).held_last;
    const auto& on = ledger.tenant(tenant).on;
    const auto lasts_longer = [&](const Standing& one) {
      return one.held_last && one.held_before <= *until && *one.held_last > *until;
    };
    while (until) {
      for (const Standing& one : on) {
        if (one.held_since && *one.held_since <= *until) return true;
      }
      const auto next = std::find_if(on.begin(), on.end(), lasts_longer);
      until = next != on.end() ? next->held_last : std::nullopt;
    }
    return false;
  }

  // Nobody is told to move something out while it runs.
  void judge(const Ledger& ledger, const core::SetAllowance& allow) {
    const Slot* slot = ledger.slot(allow.client, allow.gpu);
    if (slot == nullptr || slot->gate == Slot::Gate::closed) return;
    if (allow.bytes < slot->memory.base() && allow.bytes < slot->memory.allowed()) {
      complain(text(allow.client) + " is told to move memory out of " + text(allow.gpu) +
               " while its window is open");
    }
  }
};

}  // namespace

std::unique_ptr<Checker> make_complete_windows() { return std::make_unique<CompleteWindows>(); }

}  // namespace nvs::sim
