// SPDX-License-Identifier: Apache-2.0
// Whoever waits for memory, and fits, is passed over for so many turns of higher classes and no
// more, however short they are (ADR-0014). In a turn each of them may come in once.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class PassedOver : public Checker {
 public:
  PassedOver() : Checker("passed_over") {}

  void on_event(const Ledger&, const core::Event& event) override {
    // Another order, or another amount: all waits begin anew.
    const bool begins_anew = std::holds_alternative<core::PrioritySet>(event) ||
                             std::holds_alternative<core::PolicySet>(event) ||
                             std::holds_alternative<core::CapacitySet>(event);
    if (begins_anew) passed_.clear();
  }

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* open = std::get_if<core::OpenWindow>(&effect);
    if (open == nullptr || ledger.slot(open->client, open->gpu) == nullptr) return;
    const core::TenantId comer = ledger.client(open->client)->tenant;
    if (!std::exchange(was_away_[{comer, open->gpu}], false)) return;
    for (auto& [who, count] : passed_) {
      const auto& [waiter, gpu] = who;
      if (gpu != open->gpu) continue;
      if (ledger.tenant(waiter).priority < ledger.tenant(comer).priority) ++count;
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    std::size_t here = 0;
    for (const LedgerTenant& tenant : ledger.tenants()) here += tenant.here ? 1 : 0;
    most_tenants_ = std::max(most_tenants_, here);
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuId gpu{index};
      const bool hampered = ledger.is_hampered(gpu) || ledger.is_short(gpu);
      for (const core::ClientId client : ledger.gpu(gpu).memory) {
        look_at(ledger, gpu, ledger.client(client)->tenant, hampered);
      }
    }
  }

 private:
  void look_at(const Ledger& ledger, core::GpuId gpu, core::TenantId tenant, bool hampered) {
    if (has_memory_away(ledger, gpu, tenant)) was_away_[{tenant, gpu}] = true;
    const bool waits = ledger.standing(tenant, gpu).lacks_since && !hampered &&
                       ledger.can_fit(gpu, tenant) && !ledger.may_be_gang(tenant) &&
                       !ledger.quota().may_be_throttled(tenant, gpu);
    const std::pair<core::TenantId, core::GpuId> who{tenant, gpu};
    if (!waits || ledger.tenant(tenant).priority == core::Priority::high) {
      passed_.erase(who);
      return;
    }
    const bool is_low = ledger.tenant(tenant).priority == core::Priority::low;
    const int turns = is_low ? core::kTurnsPassedLow : core::kTurnsPassedNormal;
    const std::size_t most = static_cast<std::size_t>(turns + 2) * most_tenants_;
    const std::size_t passed = passed_[who];
    if (passed <= most) return;
    complain(text(tenant) + " waits for memory of " + text(gpu) + ", and others of a higher class" +
             " came in " + std::to_string(passed) + " times, of " + std::to_string(most));
  }

  static bool has_memory_away(const Ledger& ledger, core::GpuId gpu, core::TenantId tenant) {
    const std::vector<core::ClientId>& clients = ledger.tenant(tenant).clients;
    return std::any_of(clients.begin(), clients.end(), [&](core::ClientId client) {
      return ledger.slot(client, gpu)->memory.away > 0;
    });
  }

  std::size_t most_tenants_ = 0;
  std::map<std::pair<core::TenantId, core::GpuId>, bool> was_away_;
  std::map<std::pair<core::TenantId, core::GpuId>, std::size_t> passed_;  // of those that wait
};

}  // namespace

std::unique_ptr<Checker> make_passed_over() { return std::make_unique<PassedOver>(); }

}  // namespace nvs::sim
