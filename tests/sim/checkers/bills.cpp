// SPDX-License-Identifier: Apache-2.0
// A tenant is billed for the time in which it had a GPU and was not idle, to the nanosecond. Who
// ran beside the others at some time (it could not drain, or did not answer) is billed for that as
// well, and so for no less.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class Bills : public Checker {
 public:
  Bills() : Checker("bills") {}

  void on_last_look(const Ledger& ledger, const core::NodeView& view) override {
    for (const core::TenantView& tenant : view.tenants) {
      for (const core::TenantOnGpu& on : tenant.gpus) {
        const Between<Duration> used = ledger.used(tenant.tenant, on.gpu);
        if (used.least <= on.used && on.used <= used.most) continue;
        complain(text(tenant.tenant) + " is billed for " + text(on.used) + " of " + text(on.gpu) +
                 " and has had " + text(used.least));
      }
    }
  }
};

}  // namespace

std::unique_ptr<Checker> make_bills() { return std::make_unique<Bills>(); }

}  // namespace nvs::sim
