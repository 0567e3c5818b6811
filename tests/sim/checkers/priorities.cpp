// SPDX-License-Identifier: Apache-2.0
// A higher class is served before a lower one, except as far as the lower one's floor share is owed
// to it: no window begins for a lower class that is owed nothing while a higher one waits, and none
// goes on when a higher one begins to wait.
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

constexpr std::array<int, core::kPriorities> kFloors = {core::kFloorShareLow,
                                                        core::kFloorShareNormal, 0};

class Priorities : public Checker {
 public:
  Priorities() : Checker("priorities") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    account(ledger);
    const auto* wanted = std::get_if<core::Wanted>(&event);
    const LedgerClient* client = wanted != nullptr ? ledger.client(wanted->client) : nullptr;
    comes_ = client != nullptr ? std::optional(client->tenant) : std::nullopt;
  }

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* open = std::get_if<core::OpenWindow>(&effect);
    const LedgerClient* client = open != nullptr ? ledger.client(open->client) : nullptr;
    if (client == nullptr || !ledger.knows(open->gpu)) return;
    if (ledger.holds(client->tenant, open->gpu)) return;
    if (ledger.standing(client->tenant, open->gpu).held_last == ledger.now()) return;  // goes on
    judge(ledger, open->gpu, client->tenant, Moment::begins,
          ledger.gpu(open->gpu).policy.window / 2);
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const LedgerGpu& gpu = ledger.gpus()[index];
      if (gpu.waiting.empty() || gpu.open.size() != 1) continue;
      const Slot& slot = *ledger.slot(gpu.open.front(), core::GpuId{index});
      if (slot.gate != Slot::Gate::open || slot.loose) continue;
      judge(ledger, core::GpuId{index}, ledger.client(gpu.open.front())->tenant, Moment::goes_on,
            Duration{});
    }
    remember(ledger);
  }

 private:
  // What one GPU owes to each class, and who waited and ran there since the last event.
  struct Debts {
    std::array<Duration, core::kPriorities> owed;
    std::array<bool, core::kPriorities> waits{};
    std::array<bool, core::kPriorities> runs{};
  };

  void account(const Ledger& ledger) {
    debts_.resize(ledger.gpus().size());
    const Duration span = ledger.now() - since_;
    since_ = ledger.now();
    for (Debts& debts : debts_) {
      for (std::size_t rank = 0; rank < debts.owed.size(); ++rank) {
        Duration& owed = debts.owed[rank];
        if (debts.waits[rank]) owed += Duration::from_ns(span.ns() / 1000 * kFloors[rank]);
        if (debts.runs[rank]) owed = std::max(Duration{}, owed - span);
      }
    }
  }

  void remember(const Ledger& ledger) {
    debts_.resize(ledger.gpus().size());
    waited_.clear();
    for (std::uint32_t index = 0; index < debts_.size(); ++index) {
      Debts& debts = debts_[index];
      debts.waits = debts.runs = {};
      const LedgerGpu& gpu = ledger.gpus()[index];
      // Of those that may lack memory it is not known whether they stand in line.
      for (const LedgerTenant& tenant : ledger.tenants()) {
        if (!tenant.here || index >= tenant.on.size() || !tenant.on[index].stands) continue;
        debts.waits[static_cast<std::size_t>(tenant.priority)] = true;
      }
      for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
        const core::TenantId id{number};
        // Throttled or not: whoever may go on after that does not wake up.
        if (ledger.standing(id, core::GpuId{index}).wants) waited_.insert({id, core::GpuId{index}});
      }
      for (const core::ClientId id : gpu.open) {
        const Slot& slot = *ledger.slot(id, core::GpuId{index});
        if (ledger.holds(slot)) debts.runs[rank_of(ledger, ledger.client(id)->tenant)] = true;
      }
    }
  }

  enum class Moment { begins, goes_on };

  void judge(const Ledger& ledger, core::GpuId id, core::TenantId mine, Moment moment,
             Duration enough) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (gpu.policy.mode != core::Mode::automatic || ledger.may_be_gang(mine)) return;
    if (debts_[core::index_of(id)].owed[rank_of(ledger, mine)] > enough) return;
    for (const core::TenantId other : gpu.waiting) {
      if (ledger.tenant(other).priority <= ledger.tenant(mine).priority) continue;
      if (ledger.may_be_gang(other)) continue;  // it may lack another GPU
      // Not by its time: a clock that stands still has many steps at one.
      const bool comes_now = comes_ == other && !waited_.contains({other, id});
      if (moment == Moment::goes_on && !comes_now) continue;
      const char* what = moment == Moment::begins ? " begins on " : " goes on on ";
      complain("a window of " + text(mine) + what + text(id) + " while " + text(other) +
               " of a higher class waits, and nothing is owed to the lower one");
    }
  }

  static std::size_t rank_of(const Ledger& ledger, core::TenantId id) {
    return static_cast<std::size_t>(ledger.tenant(id).priority);
  }

  Instant since_;
  std::optional<core::TenantId> comes_;  // who says in this step that it wants a GPU
  std::set<std::pair<core::TenantId, core::GpuId>> waited_;  // before this step
  std::vector<Debts> debts_;
};

}  // namespace

std::unique_ptr<Checker> make_priorities() { return std::make_unique<Priorities>(); }

}  // namespace nvs::sim
