// SPDX-License-Identifier: Apache-2.0
// Two seconds after the last change of a cap each tenant that always has work gets what its cap
// gives it again, within a thousandth of the time and what one window may be off; and all together
// what caps give them, but for what they save before they run, and no more than the GPU. Where
// somebody else disturbs that (comes, leaves, sleeps, pauses, does not drain, has no cap, lacks
// memory) it begins anew.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/sim/checkers/cap_slack.h"
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

constexpr Duration kSettles = Duration::from_s(2);
constexpr Duration kLeast = Duration::from_s(2);
constexpr Duration kQuietMost = Duration::from_ms(1);
constexpr Duration kInterval = Duration::from_ms(20);

class CapChanges : public Checker {
 public:
  explicit CapChanges(RunTraits traits) : Checker("cap_changes"), capped_(traits.capped) {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    if (!capped_) return;
    gpus_.resize(ledger.gpus().size());
    const bool is_work = std::holds_alternative<core::Wanted>(event) ||
                         std::holds_alternative<core::Drained>(event) ||
                         std::holds_alternative<core::StillDraining>(event) ||
                         std::holds_alternative<core::MemoryHeld>(event) ||
                         std::holds_alternative<core::Tick>(event);
    // One that was idle for a while without telling, or says so.
    const auto* drained = std::get_if<core::Drained>(&event);
    const bool late = drained != nullptr && drained->quiet > kQuietMost;
    const bool excused = ledger.excused() != excused_;
    excused_ = ledger.excused();
    const auto* change = std::get_if<core::CapSet>(&event);
    for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
      Gpu& gpu = gpus_[index];
      if (!is_work || late || excused) disturb(ledger, gpu);
      // With a change nobody has much saved any more.
      if (change != nullptr && ledger.quota().has_account(change->tenant, core::GpuId{index})) {
        gpu.owed = false;
      } else {
        gpu.owed = gpu.owed || !is_work || late || excused;
      }
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    for (std::uint32_t index = 0; index < gpus_.size(); ++index) {
      Gpu& gpu = gpus_[index];
      const core::GpuId id{index};
      const bool steady = is_steady(ledger, id);
      if (!steady) disturb(ledger, gpu);
      gpu.owed = !steady || owes(ledger, id) || (gpu.owed && is_owed(ledger, id));
      if (ledger.now() - gpu.disturbed < kSettles) continue;
      if (!gpu.began) {
        if (!gpu.owed) begin(ledger, id);
      } else if (ledger.now() - *gpu.began >= kLeast && ledger.now() - gpu.judged >= kInterval) {
        gpu.judged = ledger.now();
        judge(ledger, id);
      }
    }
  }

 private:
  struct Had {
    core::TenantId tenant;
    Duration used;
    double earned;
  };
  struct Gpu {
    Instant disturbed;
    bool owed = false;  // more than usual, or to be paid back, because of what was before
    std::optional<Instant> began;
    Instant judged;
    std::vector<Had> had;
  };

  static void disturb(const Ledger& ledger, Gpu& gpu) {
    gpu.disturbed = ledger.now();
    gpu.began.reset();
  }

  // All that use it have caps and work, and nothing but their caps keeps them from it.
  static bool is_steady(const Ledger& ledger, core::GpuId id) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (gpu.policy.mode == core::Mode::concurrent || !gpu.fits() || ledger.is_hampered(id)) {
      return false;
    }
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId tenant{number};
      const LedgerQuota::State& state = ledger.quota().state(tenant, id);
      if (!ledger.quota().has_account(tenant, id)) {
        if (state.wants || state.busy.most > 0) return false;
        continue;
      }
      if (state.busy.least != state.busy.most || ledger.may_be_gang(tenant)) return false;
      if ((!state.wants && state.busy.least == 0) || state.asks) return false;
      if (ledger.standing(tenant, id).lacks_since) return false;
    }
    return ledger.quota().accounts(id) > 0;
  }

  template <class Is>
  static bool is_any(const Ledger& ledger, core::GpuId id, Is is) {
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId tenant{number};
      if (ledger.quota().has_account(tenant, id) && is(tenant)) return true;
    }
    return false;
  }

  // Somebody has not had its share for a while, beside others without caps, and gets it now.
  static bool is_owed(const Ledger& ledger, core::GpuId id) {
    return is_any(ledger, id, [&](core::TenantId tenant) {
      return ledger.quota().credit(tenant, id).most > cap_slack_ns(ledger, tenant, id);
    });
  }

  // Somebody had far too much, because it did not drain, and pays it back; no change forgives that.
  static bool owes(const Ledger& ledger, core::GpuId id) {
    return is_any(ledger, id, [&](core::TenantId tenant) {
      return ledger.quota().credit(tenant, id).least < -cap_slack_ns(ledger, tenant, id);
    });
  }

  void begin(const Ledger& ledger, core::GpuId id) {
    Gpu& gpu = gpus_[core::index_of(id)];
    gpu.began = ledger.now();
    gpu.had.clear();
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId tenant{number};
      if (!ledger.quota().has_account(tenant, id)) continue;
      gpu.had.push_back(
          {tenant, ledger.used(tenant, id).least, ledger.quota().scaled(tenant, id).most});
    }
  }

  void judge(const Ledger& ledger, core::GpuId id) {
    const Gpu& gpu = gpus_[core::index_of(id)];
    const Duration span = ledger.now() - *gpu.began;
    Duration sum;
    double given_to_all = 0;
    double swing = 0;
    // Whoever has run out is billed until it has drained, and saves before it runs again. Where
    // caps leave little of the GPU over, what was kept at the change is spent slowly.
    const auto drain = static_cast<double>(ledger.slowest_drain(id).ns());
    for (const Had& before : gpu.had) {
      const Duration used = ledger.used(before.tenant, id).least - before.used;
      const double given = ledger.quota().scaled(before.tenant, id).most - before.earned;
      const double off = static_cast<double>(used.ns()) - given;
      const double slack = cap_slack_ns(ledger, before.tenant, id);
      sum += used;
      given_to_all += given;
      swing += std::max(ledger.quota().quantum(before.tenant, id).most,
                        ledger.quota().kept_after_change(before.tenant, id).most) +
               drain;
      if (std::abs(off) <= static_cast<double>(span.ns()) / 1000 + slack) continue;
      complain(text(before.tenant) + " had " + text(used) + " of " + text(id) + " in " +
               text(span) + ", and its cap gave it " + std::to_string(given / 1e3) + " us");
    }
    const double most = static_cast<double>(span.ns()) / 1000 + swing;
    const double off = static_cast<double>(sum.ns()) - given_to_all;
    if (sum <= span && std::abs(off) <= most) return;
    complain("all together had " + text(sum) + " of " + text(id) + " in " + text(span) +
             ", and their caps gave them " + std::to_string(given_to_all / 1e3) + " us");
  }

  bool capped_;
  Duration excused_;
  std::vector<Gpu> gpus_;
};

}  // namespace

std::unique_ptr<Checker> make_cap_changes(RunTraits traits) {
  return std::make_unique<CapChanges>(traits);
}

}  // namespace nvs::sim
