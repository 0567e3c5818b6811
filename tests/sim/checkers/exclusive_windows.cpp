// SPDX-License-Identifier: Apache-2.0
// In automatic and serial mode a GPU belongs to one tenant at a time: a window is opened when all
// clients of the others have drained, but for those that cannot drain or do not answer. Windows
// that overlap for another reason (the mode before, the daemon before) do not stay so.
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

constexpr Duration kOverlapMax = Duration::from_s(3);

class ExclusiveWindows : public Checker {
 public:
  ExclusiveWindows() : Checker("exclusive_windows") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* open = std::get_if<core::OpenWindow>(&effect);
    if (open == nullptr || ledger.slot(open->client, open->gpu) == nullptr) return;
    const LedgerGpu& gpu = ledger.gpu(open->gpu);
    if (gpu.policy.mode == core::Mode::concurrent) return;
    const core::TenantId mine = ledger.client(open->client)->tenant;
    // One more client of a window that is open, or that was given up and goes on in one step.
    if (ledger.holds(mine, open->gpu)) return;
    if (ledger.standing(mine, open->gpu).held_last == ledger.now()) return;
    for (const core::ClientId other : gpu.open) {
      const core::TenantId theirs = ledger.client(other)->tenant;
      if (theirs != mine && ledger.holds(*ledger.slot(other, open->gpu))) {
        complain("window of " + text(mine) + " opened on " + text(open->gpu) + " while " +
                 text(other) + " of " + text(theirs) + " has not drained");
      }
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    overlap_since_.resize(ledger.gpus().size());
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      std::optional<Instant>& since = overlap_since_[index];
      if (!overlaps(ledger, core::GpuId{index})) {
        since.reset();
      } else if (!since) {
        since = ledger.now();
      } else if (ledger.now() - *since > kOverlapMax + ledger.excused()) {
        complain("windows of several tenants stay open together on " + text(core::GpuId{index}));
      }
    }
  }

 private:
  static bool overlaps(const Ledger& ledger, core::GpuId id) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (gpu.open.size() < 2 || gpu.policy.mode == core::Mode::concurrent) return false;
    std::optional<core::TenantId> first;
    for (const core::ClientId client : gpu.open) {
      const Slot& slot = *ledger.slot(client, id);
      if (!ledger.holds(slot) || slot.idle) continue;
      const core::TenantId tenant = ledger.client(client)->tenant;
      if (first && *first != tenant) return true;
      first = tenant;
    }
    return false;
  }

  std::vector<std::optional<Instant>> overlap_since_;
};

}  // namespace

std::unique_ptr<Checker> make_exclusive_windows() { return std::make_unique<ExclusiveWindows>(); }

}  // namespace nvs::sim
