// SPDX-License-Identifier: Apache-2.0
// Every tenant that waits is served within a bound. While it waits, each other tenant of its class
// may catch up with what it had itself (a window and its drain, scaled by the weights) and take one
// window more; higher classes stretch that time to the class's floor share; gangs may make a GPU
// wait for the slowest drain of the others.
#include <algorithm>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

constexpr Duration kLeast = Duration::from_s(1);
constexpr Duration kInterval = Duration::from_ms(50);
constexpr int kSafety = 3;

class ServiceBound : public Checker {
 public:
  ServiceBound() : Checker("service_bound") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    if (std::holds_alternative<core::ClientJoined>(event)) joined_at_.push_back(ledger.now());
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    if (ledger.now() - judged_ < kInterval) return;
    judged_ = ledger.now();
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      for (const core::TenantId tenant : ledger.gpus()[index].waiting) {
        judge(ledger, core::GpuId{index}, tenant);
      }
    }
  }

 private:
  void judge(const Ledger& ledger, core::GpuId id, core::TenantId mine) {
    const Instant since =
        std::max(*ledger.standing(mine, id).waits_since, ledger.gpu(id).policy_since);
    const Duration waited = ledger.now() - since;
    if (waited <= kLeast || has_gone_silent(ledger, mine, id)) return;
    const Duration bound = bound_for(ledger, id, mine, since);
    if (waited > bound) {
      complain(text(mine) + " has waited " + text(waited) + " for " + text(id) + "; bound " +
               text(bound));
    }
  }

  // One of its own clients does not answer, or cannot drain: then it is not waiting alone.
  static bool has_gone_silent(const Ledger& ledger, core::TenantId mine, core::GpuId id) {
    for (const core::ClientId client : ledger.tenant(mine).clients) {
      const Slot& slot = *ledger.slot(client, id);
      if (slot.given_up || slot.loose || slot.gate == Slot::Gate::closing) return true;
    }
    return false;
  }

  static Duration longest_window(const LedgerGpu& gpu) {
    return gpu.policy.mode == core::Mode::serial ? gpu.policy.turn.value_or(core::kSerialTurn)
                                                 : gpu.policy.window;
  }

  // The slowest hand-over of a GPU: what was seen, or what a silent client can make of it.
  static Duration drain_of(const LedgerGpu& gpu) {
    return std::max(gpu.longest_drain, core::kSilenceMax);
  }

  Duration bound_for(const Ledger& ledger, core::GpuId id, core::TenantId mine,
                     Instant since) const {
    Duration piece = longest_window(ledger.gpu(id)) + drain_of(ledger.gpu(id));
    bool gangs = false;
    std::int64_t hundredths = 100;  // of pieces that others of the class may take before it
    bool higher = false;
    for (const LedgerTenant& other : ledger.tenants()) {
      if (!other.here || &other == &ledger.tenant(mine)) continue;
      const auto id_of = static_cast<core::TenantId>(&other - ledger.tenants().data());
      gangs |= ledger.may_be_gang(id_of);
      if (!other.on[core::index_of(id)].held_last && !ledger.holds(id_of, id) &&
          !other.on[core::index_of(id)].waits_since) {
        continue;
      }
      higher |= other.priority != ledger.tenant(mine).priority;
      hundredths += 100 + 100 * other.weight / ledger.tenant(mine).weight;
    }
    for (const Instant joined : joined_at_) hundredths += joined >= since ? 200 : 0;
    if (gangs || ledger.may_be_gang(mine)) {
      for (const LedgerGpu& gpu : ledger.gpus()) piece += longest_window(gpu) + drain_of(gpu);
    }
    const std::int64_t stretch = higher ? 1000 / share_of(ledger.tenant(mine).priority) : 1;
    return kLeast + ledger.excused() + piece * hundredths / 100 * stretch * kSafety;
  }

  static std::int64_t share_of(core::Priority priority) {
    switch (priority) {
      case core::Priority::high:
        return 1000 - core::kFloorShareNormal - core::kFloorShareLow;
      case core::Priority::normal:
        return core::kFloorShareNormal;
      case core::Priority::low:
        break;
    }
    return core::kFloorShareLow;
  }

  Instant judged_;
  std::vector<Instant> joined_at_;
};

}  // namespace

std::unique_ptr<Checker> make_service_bound() { return std::make_unique<ServiceBound>(); }

}  // namespace nvs::sim
