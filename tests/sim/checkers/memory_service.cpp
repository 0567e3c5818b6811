// SPDX-License-Identifier: Apache-2.0
// Everybody who waits for memory, and fits, gets it within a bound.
//
// A *change* takes as long as the slowest drain, the moving of all there is, out and in, and the
// time after which those that do not move are not waited for any more. A turn is as long as it was
// set; else five times what moves, or 19 times the stall of a change: in any case no longer than 20
// changes. At its end the one of its class that has waited longest comes first. So a tenant waits
// for one turn and change for each other tenant and itself; a lower class has every fifth or
// twentieth turn. A gang comes first on one of its GPUs after the other: as long on each of them.
#include <algorithm>
#include <map>
#include <utility>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/class_share.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

constexpr Duration kChangeLeast = Duration::from_s(1);

class MemoryService : public Checker {
 public:
  explicit MemoryService(RunTraits traits) : Checker("memory_service"), traits_(traits) {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    // Another order, or another amount: waits begin anew.
    if (std::holds_alternative<core::PrioritySet>(event)) reordered_ = ledger.now();
    if (const auto* set = std::get_if<core::CapacitySet>(&event)) {
      disturbed_[set->gpu] = ledger.now();
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuId id{index};
      if (ledger.gpu(id).memory.empty()) continue;
      // Somebody holds memory and does not answer, or the driver has less than it should.
      if (ledger.is_hampered(id) || ledger.is_short(id)) disturbed_[id] = ledger.now();
      for (const core::ClientId client : ledger.gpu(id).memory) judge(ledger, id, client);
    }
  }

 private:
  void judge(const Ledger& ledger, core::GpuId id, core::ClientId client) {
    const core::TenantId mine = ledger.client(client)->tenant;
    const std::optional<Instant>& since = ledger.standing(mine, id).lacks_since;
    if (!since) return;
    std::optional<Instant>& fits_since = fits_since_[{mine, id}];
    if (!ledger.can_fit(id, mine)) return fits_since.reset();
    if (!fits_since) fits_since = ledger.now();
    const LedgerGpu& gpu = ledger.gpu(id);
    const Instant begin =
        std::max({*since, reordered_, disturbed_[id], gpu.policy_since, *fits_since});
    const Duration bound = bound_for(ledger, mine);
    if (ledger.now() - begin <= bound) return;
    complain(text(mine) + " has waited " + text(ledger.now() - begin) + " for memory of " +
             text(id) + "; bound " + text(bound));
  }

  Duration bound_for(const Ledger& ledger, core::TenantId mine) {
    Duration sum;
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const LedgerGpu& gpu = ledger.gpus()[index];
      const auto us = static_cast<std::int64_t>(gpu.capacity / (traits_.bus_rate / 1'000'000));
      const Duration moving = Duration::from_us(us) * 2;
      const Duration change = gpu.longest_drain + moving + core::kMoveStall + kChangeLeast;
      Duration turn = change * 20;
      if (gpu.policy.mode == core::Mode::serial) turn = gpu.policy.turn.value_or(core::kSerialTurn);
      if (gpu.policy.turn) turn = *gpu.policy.turn;
      sum += turn + change;
    }
    std::int64_t tenants = 0;
    bool classes = false;
    const core::Priority priority = ledger.tenant(mine).priority;
    for (const LedgerTenant& tenant : ledger.tenants()) {
      if (!tenant.here) continue;
      ++tenants;
      classes = classes || tenant.priority != priority;
    }
    // Whoever has left had its turns before.
    most_tenants_ = std::max(most_tenants_, tenants);
    had_classes_ = had_classes_ || classes;
    Duration bound = sum * most_tenants_;
    if (had_classes_) bound = bound * 1000 / share_of(priority);
    return bound + ledger.excused();
  }

  RunTraits traits_;
  Instant reordered_;
  std::int64_t most_tenants_ = 0;
  bool had_classes_ = false;
  std::map<core::GpuId, Instant> disturbed_;
  std::map<std::pair<core::TenantId, core::GpuId>, std::optional<Instant>> fits_since_;
};

}  // namespace

std::unique_ptr<Checker> make_memory_service(RunTraits traits) {
  return std::make_unique<MemoryService>(traits);
}

}  // namespace nvs::sim
