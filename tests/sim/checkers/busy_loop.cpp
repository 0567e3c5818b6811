// SPDX-License-Identifier: Apache-2.0
// A step on time leaves no deadline that has come already, and deadlines do not come more often
// than there are windows, drains and retries to time: the daemon's loop would spin.
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class BusyLoop : public Checker {
 public:
  BusyLoop() : Checker("busy_loop") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    ticked_ = std::holds_alternative<core::Tick>(event);
    if (ledger.now() - second_ >= Duration::from_s(1)) {
      second_ = ledger.now();
      ticks_ = 0;
    }
    if (ticked_ && ++ticks_ > most(ledger)) {
      complain("more than " + std::to_string(most(ledger)) + " ticks in a second");
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>& next_deadline) override {
    if (ticked_ && next_deadline && *next_deadline <= ledger.now()) {
      complain("the deadline after a tick has come already");
    }
  }

 private:
  static std::int64_t most(const Ledger& ledger) {
    std::int64_t sum = 100;
    for (const LedgerGpu& gpu : ledger.gpus()) {
      const Duration window = std::max(gpu.policy.window, core::kWindowMin);
      sum += 4 * (Duration::from_s(1).ns() / window.ns() + 1);
    }
    // A cap runs out and comes back once a period.
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuPolicy& policy = ledger.gpus()[index].policy;
      const std::int64_t periods = Duration::from_s(1).ns() / policy.quota_period.ns() + 1;
      sum += 4 * periods * static_cast<std::int64_t>(ledger.quota().accounts(core::GpuId{index}));
    }
    return sum + 10 * static_cast<std::int64_t>(ledger.tenants().size());
  }

  bool ticked_ = false;
  Instant second_;
  std::int64_t ticks_ = 0;
};

}  // namespace

std::unique_ptr<Checker> make_busy_loop() { return std::make_unique<BusyLoop>(); }

}  // namespace nvs::sim
