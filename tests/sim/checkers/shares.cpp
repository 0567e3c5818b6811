// SPDX-License-Identifier: Apache-2.0
// In a quiet run, tenants that always have work get the GPU in proportion to their weights.
#include <algorithm>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

constexpr int kTolerancePercent = 3;

class Shares : public Checker {
 public:
  explicit Shares(RunTraits traits) : Checker("shares"), traits_(traits) {}

  void on_end(const Ledger& ledger, const core::NodeView&) override {
    if (!traits_.quiet || traits_.capped) return;
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      judge(ledger, core::GpuId{index});
    }
  }

 private:
  void judge(const Ledger& ledger, core::GpuId id) {
    Duration all;
    std::int64_t weights = 0;
    for (const LedgerTenant& tenant : ledger.tenants()) {
      if (used(ledger, tenant, id) == Duration{}) continue;
      all += used(ledger, tenant, id);
      weights += tenant.weight;
    }
    for (const LedgerTenant& tenant : ledger.tenants()) {
      const Duration had = used(ledger, tenant, id);
      if (had == Duration{}) continue;
      const Duration fair = all * tenant.weight / weights;
      // The last round may have been cut short.
      const LedgerGpu& gpu = ledger.gpu(id);
      const Duration allowed =
          fair * kTolerancePercent / 100 + (gpu.policy.window + gpu.longest_drain) * 2;
      const Duration off = std::max(had - fair, fair - had);
      if (off <= allowed) continue;
      const auto number = static_cast<core::TenantId>(&tenant - ledger.tenants().data());
      complain(text(number) + " had " + text(had) + " of " + text(id) +
               "; its share by weight is " + text(fair));
    }
  }

  static Duration used(const Ledger& ledger, const LedgerTenant& tenant, core::GpuId id) {
    return ledger.used(static_cast<core::TenantId>(&tenant - ledger.tenants().data()), id).least;
  }

  RunTraits traits_;
};

}  // namespace

std::unique_ptr<Checker> make_shares(RunTraits traits) { return std::make_unique<Shares>(traits); }

}  // namespace nvs::sim
