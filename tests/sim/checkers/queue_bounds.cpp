// SPDX-License-Identifier: Apache-2.0
// How much a holder may have queued follows from who else is about (ADR-0018): 2 ms where somebody
// may wake up, as whoever is new may, and a third of a window where all others are there all the
// time.
#include <algorithm>
#include <optional>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// Whoever was there for so long without a gap is steady; for less than this it cannot be.
constexpr Duration kSurelySteady = core::kSteadySpan;
constexpr Duration kStillNew = core::kSteadySpan / 2;
// Whoever was away for longer is not expected back.
constexpr Duration kSurelyGone = core::kPresence * 2;

class QueueBounds : public Checker {
 public:
  QueueBounds() : Checker("queue_bounds") {}

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* open = std::get_if<core::OpenWindow>(&effect);
    if (open != nullptr && ledger.knows(open->gpu)) opened_.push_back(*open);
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    pasts_.resize(ledger.gpus().size());
    for (std::uint32_t index = 0; index < pasts_.size(); ++index) {
      pasts_[index].resize(ledger.tenants().size());
      for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
        note(ledger, core::GpuId{index}, core::TenantId{number});
      }
      for (const core::ClientId client : ledger.gpus()[index].open) {
        judge(ledger, core::GpuId{index}, client);
      }
    }
    // When it was told its terms in this step they were those of this step.
    for (const core::OpenWindow& open : opened_) judge_steady(ledger, open);
    opened_.clear();
  }

 private:
  // Of a tenant on a GPU.
  struct Past {
    std::optional<Instant> first;  // when it first wanted or held it
    std::optional<Instant> since;  // it has done so, with work, all the time
    bool holds = false;
    bool steady = false;
  };

  void note(const Ledger& ledger, core::GpuId gpu, core::TenantId tenant) {
    Past& past = pasts_[core::index_of(gpu)][static_cast<std::size_t>(tenant)];
    if (!ledger.tenant(tenant).here) {
      past = {};
      return;
    }
    const Standing& now = ledger.standing(tenant, gpu);
    const bool holds = now.held_since.has_value();
    if (!past.first && now.about) past.first = ledger.now();
    if (!now.wants && (!holds || now.idle)) {
      past.since.reset();
      past.steady = false;
    } else if (!past.since) {
      past.since = ledger.now();
    } else if (holds != past.holds && ledger.now() - *past.since >= kSurelySteady) {
      past.steady = true;  // the core looks at it when its window begins or ends
    }
    past.holds = holds;
  }

  static Duration longest(const LedgerGpu& gpu) {
    return std::clamp(gpu.policy.window / core::kQueueBoundOfWindow, core::kQueueBound,
                      core::kQueueBoundSteady);
  }

  void judge(const Ledger& ledger, core::GpuId id, core::ClientId client) {
    const LedgerGpu& gpu = ledger.gpu(id);
    const Slot& slot = *ledger.slot(client, id);
    const Duration bound = slot.terms.queue_bound;
    if (gpu.policy.mode == core::Mode::concurrent || !slot.terms.bounded()) return;
    if (slot.gate != Slot::Gate::open || slot.found || slot.loose) return;
    const core::TenantId mine = ledger.client(client)->tenant;
    if (bound != core::kQueueBound && bound != longest(gpu)) {
      complain(text(mine) + " may queue " + text(bound) + " on " + text(id));
    }
    if (bound == core::kQueueBound) return;
    for (const core::TenantId other : gpu.waiting) {
      const Past& past = pasts_[core::index_of(id)][static_cast<std::size_t>(other)];
      const bool is_new = past.first && ledger.now() - *past.first < kStillNew;
      if (other == mine || !is_new || ledger.may_lack_memory(other)) continue;
      complain(text(mine) + " may queue " + text(bound) + " on " + text(id) + " although " +
               text(other) + " is new");
    }
  }

  void judge_steady(const Ledger& ledger, const core::OpenWindow& open) {
    const LedgerGpu& gpu = ledger.gpu(open.gpu);
    const Slot& slot = *ledger.slot(open.client, open.gpu);
    if (gpu.policy.mode == core::Mode::concurrent || slot.gate != Slot::Gate::open) return;
    if (!gpu.memory.empty() || ledger.quota().accounts(open.gpu) > 0) return;
    if (!slot.terms.bounded() || slot.terms.queue_bound == longest(gpu)) return;
    const core::TenantId mine = ledger.client(open.client)->tenant;
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId other{number};
      if (other != mine && may_sleep(ledger, open.gpu, other)) return;
    }
    complain(text(mine) + " may queue no more than " + text(slot.terms.queue_bound) + " on " +
             text(open.gpu) + ", and nobody sleeps");
  }

  bool may_sleep(const Ledger& ledger, core::GpuId gpu, core::TenantId tenant) const {
    const Past& past = pasts_[core::index_of(gpu)][static_cast<std::size_t>(tenant)];
    if (!ledger.tenant(tenant).here || !past.first) return false;
    // A gang keeps GPUs on which it has given its windows up.
    if (past.steady) return ledger.may_be_gang(tenant);
    const Standing& now = ledger.standing(tenant, gpu);
    return now.about || !now.gone_since || ledger.now() - *now.gone_since <= kSurelyGone;
  }

  std::vector<std::vector<Past>> pasts_;  // by GPU and tenant
  std::vector<core::OpenWindow> opened_;  // in this step
};

}  // namespace

std::unique_ptr<Checker> make_queue_bounds() { return std::make_unique<QueueBounds>(); }

}  // namespace nvs::sim
