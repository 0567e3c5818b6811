// SPDX-License-Identifier: Apache-2.0
// In automatic and serial mode a GPU belongs to one tenant at a time: a window is opened when all
// clients of the others have drained, but for those that cannot drain or do not answer. Windows
// that overlap for another reason (the mode before, the daemon before) do not stay so for longer
// than the GPU needs for what all of them may have queued.
// A gang that has given its gates up on a GPU keeps its place there while it works elsewhere
// (ADR-0008), and is back without a new window: whoever was being closed beside it before it gave
// them up, because it was found open, may still be.
#include <algorithm>
#include <optional>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

constexpr Duration kOverlapMax = Duration::from_s(3);
// A client's queue without a bound, and its longest kernel (draw_plan.cpp).
constexpr Duration kQueuedMax = Duration::from_ms(40);

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
      const Slot& slot = *ledger.slot(other, open->gpu);
      if (theirs != mine && ledger.holds(slot) && !is_older(ledger, slot, mine, open->gpu)) {
        complain("window of " + text(mine) + " opened on " + text(open->gpu) + " while " +
                 text(other) + " of " + text(theirs) + " has not drained");
      }
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    overlaps_.resize(ledger.gpus().size());
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      std::optional<Overlap>& overlap = overlaps_[index];
      const Duration queued =
          kQueuedMax * static_cast<std::int64_t>(ledger.gpus()[index].open.size());
      if (!overlaps(ledger, core::GpuId{index})) {
        overlap.reset();
        continue;
      }
      if (!overlap) overlap = {ledger.now(), {}};
      overlap->queued = std::max(overlap->queued, queued);
      if (ledger.now() - overlap->since > kOverlapMax + overlap->queued + ledger.excused()) {
        complain("windows of several tenants stay open together on " + text(core::GpuId{index}));
      }
    }
  }

 private:
  // Was it being closed already while the gang had its gates open?
  static bool is_older(const Ledger& ledger, const Slot& slot, core::TenantId gang,
                       core::GpuId id) {
    const std::optional<Instant>& held_last = ledger.standing(gang, id).held_last;
    return ledger.may_be_gang(gang) && slot.gate == Slot::Gate::closing && held_last &&
           slot.closing_since <= *held_last;
  }

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

  struct Overlap {
    Instant since;
    Duration queued;  // at most, when most clients had windows
  };
  std::vector<std::optional<Overlap>> overlaps_;  // by GPU
};

}  // namespace

std::unique_ptr<Checker> make_exclusive_windows() { return std::make_unique<ExclusiveWindows>(); }

}  // namespace nvs::sim
