// SPDX-License-Identifier: Apache-2.0
// Whoever waits for memory, and fits, is passed over for as long as so many turns of higher classes
// take and no longer, however short each is (ADR-0014). Those of its own class may come before it.
// Only where a turn's length was set: else memory_service alone has a bound.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class PassedOver : public Checker {
 public:
  explicit PassedOver(RunTraits traits) : Checker("passed_over"), traits_(traits) {}

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
    const std::optional<Duration> turn = turn_of(ledger.gpu(open->gpu));
    if (!turn) return;
    for (auto& [who, passed] : passed_) {
      const auto& [waiter, gpu] = who;
      if (gpu != open->gpu) continue;
      if (ledger.tenant(waiter).priority >= ledger.tenant(comer).priority) continue;
      passed.span += std::min(ledger.now() - passed.counted, *turn);
      passed.counted = ledger.now();
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    std::array<std::size_t, core::kPriorities> here{};
    for (const LedgerTenant& tenant : ledger.tenants()) {
      if (tenant.here) ++here[static_cast<std::size_t>(tenant.priority)];
    }
    for (std::size_t i = 0; i < here.size(); ++i) most_[i] = std::max(most_[i], here[i]);
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
    const std::optional<Duration> turn = turn_of(ledger.gpu(gpu));
    if (!turn) return;
    const Passed& passed = passed_.try_emplace(who, Passed{ledger.now(), {}}).first->second;
    const core::Priority priority = ledger.tenant(tenant).priority;
    const int turns =
        priority == core::Priority::low ? core::kTurnsPassedLow : core::kTurnsPassedNormal;
    const auto peers = static_cast<std::int64_t>(most_[static_cast<std::size_t>(priority)]);
    const Duration most = (*turn + change_of(ledger.gpu(gpu))) * ((turns + 2) * peers);
    if (passed.span <= most) return;
    complain(text(tenant) + " waits for memory of " + text(gpu) + ", and others of a higher class" +
             " had turns of " + text(passed.span) + ", of " + text(most));
  }

  // A turn begins when what has to move has moved.
  Duration change_of(const LedgerGpu& gpu) const {
    const auto us = static_cast<std::int64_t>(gpu.capacity / (traits_.bus_rate / 1'000'000));
    return gpu.longest_drain + Duration::from_us(us) * 2;
  }

  static std::optional<Duration> turn_of(const LedgerGpu& gpu) {
    if (gpu.policy.mode != core::Mode::serial) return gpu.policy.turn;
    return gpu.policy.turn.value_or(core::kSerialTurn);
  }

  static bool has_memory_away(const Ledger& ledger, core::GpuId gpu, core::TenantId tenant) {
    const std::vector<core::ClientId>& clients = ledger.tenant(tenant).clients;
    return std::any_of(clients.begin(), clients.end(), [&](core::ClientId client) {
      return ledger.slot(client, gpu)->memory.away > 0;
    });
  }

  struct Passed {
    Instant counted;  // until then
    Duration span;
  };
  RunTraits traits_;
  std::array<std::size_t, core::kPriorities> most_{};  // tenants of each class
  std::map<std::pair<core::TenantId, core::GpuId>, bool> was_away_;
  std::map<std::pair<core::TenantId, core::GpuId>, Passed> passed_;  // of those that wait
};

}  // namespace

std::unique_ptr<Checker> make_passed_over(RunTraits traits) {
  return std::make_unique<PassedOver>(traits);
}

}  // namespace nvs::sim
