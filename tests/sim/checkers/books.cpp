// SPDX-License-Identifier: Apache-2.0
// When everyone has left nothing is left behind: no tenant, no holder, nobody who waits, and no
// deadline to wake up for.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class Books : public Checker {
 public:
  Books() : Checker("books") {}

  void on_settled(const Ledger&, const std::optional<Instant>& next_deadline) override {
    next_deadline_ = next_deadline;
  }

  void on_end(const Ledger&, const core::NodeView& view) override {
    for (const core::TenantView& tenant : view.tenants) {
      complain(text(tenant.tenant) + " is in the books after everyone left");
    }
    for (const core::GpuView& gpu : view.gpus) {
      if (gpu.holder) complain(text(*gpu.holder) + " holds " + text(gpu.gpu) + " and is gone");
      if (!gpu.loose.empty()) complain(text(gpu.loose.front()) + " is loose and gone");
      if (gpu.caps != 0) complain("a cap of somebody who is gone counts on " + text(gpu.gpu));
      if (gpu.waiting != 0) complain("somebody who is gone waits for " + text(gpu.gpu));
      if (gpu.held < Duration{} || gpu.handover < Duration{}) {
        complain("negative time in the books of " + text(gpu.gpu));
      }
    }
    if (next_deadline_) complain("a deadline is left after everyone left");
  }

 private:
  std::optional<Instant> next_deadline_;
};

}  // namespace

std::unique_ptr<Checker> make_books() { return std::make_unique<Books>(); }

}  // namespace nvs::sim
