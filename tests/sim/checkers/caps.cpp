// SPDX-License-Identifier: Apache-2.0
// Nobody has more than its cap, also where nobody else wants the GPU: over any span it takes its
// part of it at most, and what it may have saved before. What it has beyond that, because its
// kernels take so long, or because it does not drain, it pays back: no window begins for one that
// has had its share until it has saved enough, and none goes on when it runs out. Whoever may go on
// after that waits for the end of a window like all others: it did not wake up. What the core says
// it has saved is what it has.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// From a deadline to the step that it causes; more if the daemon was held up.
constexpr double kLateNs = 1e6;
// The core counts in whole nanoseconds.
constexpr double kRoundedNs = 1e3;

class Caps : public Checker {
 public:
  Caps() : Checker("caps") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    ticked_ = std::holds_alternative<core::Tick>(event);
    const auto* wanted = std::get_if<core::Wanted>(&event);
    const LedgerClient* client = wanted != nullptr ? ledger.client(wanted->client) : nullptr;
    if (client != nullptr && ledger.knows(wanted->gpu)) {
      note_woke(ledger, client->tenant, wanted->gpu);
    }
    // Whoever may go on, or comes first now, is heard as well.
    const auto* resumed = std::get_if<core::TenantResumed>(&event);
    if (resumed != nullptr) note_standing(ledger, resumed->tenant);
    const auto* raised = std::get_if<core::PrioritySet>(&event);
    if (raised != nullptr) note_standing(ledger, raised->tenant);
  }

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    const auto* close = std::get_if<core::CloseWindow>(&effect);
    if (close != nullptr && ticked_) judge_end(ledger, *close);
    const auto* open = std::get_if<core::OpenWindow>(&effect);
    const LedgerClient* client = open != nullptr ? ledger.client(open->client) : nullptr;
    if (client == nullptr || !ledger.knows(open->gpu)) return;
    if (ledger.holds(client->tenant, open->gpu)) return;
    const LedgerQuota& quota = ledger.quota();
    // A gang that has begun keeps its GPUs: it does not begin anew if one of them is used again.
    // Where it drained it has not given the GPU up, and if it owed something then, and does not any
    // more, nobody looked.
    const bool begins = !holds_any(ledger, client->tenant);
    if (!begins && quota.credit(client->tenant, open->gpu).most > 0) return;
    if (!quota.has_run_out(client->tenant, open->gpu) &&
        !(begins && quota.is_throttled(client->tenant, open->gpu))) {
      return;
    }
    complain("a window of " + text(client->tenant) + " begins on " + text(open->gpu) +
             ", and it has had its share");
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>& next_deadline) override {
    const bool looked = !next_deadline || *next_deadline > ledger.now();
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuId id{index};
      if (ledger.quota().accounts(id) == 0) continue;
      for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
        const core::TenantId tenant{number};
        if (!ledger.quota().has_account(tenant, id)) {
          least_.erase({tenant, id});
          continue;
        }
        judge_span(ledger, tenant, id);
        if (looked) judge_run_out(ledger, tenant, id);
      }
    }
  }

  void on_last_look(const Ledger& ledger, const core::NodeView& view) override {
    for (const core::GpuView& gpu : view.gpus) {
      const Between<double> sum = ledger.quota().sum(gpu.gpu);
      const double said = static_cast<double>(gpu.caps) / core::kWholeGpu;
      if (said >= sum.least - 1e-9 && said <= sum.most + 1e-9) continue;
      complain("caps on " + text(gpu.gpu) + " are said to add up to " + std::to_string(said) +
               ", and add up to " + std::to_string(sum.most));
    }
    for (const core::TenantView& tenant : view.tenants) {
      for (const core::TenantOnGpu& on : tenant.gpus) judge_books(ledger, tenant.tenant, on);
    }
  }

 private:
  void note_woke(const Ledger& ledger, core::TenantId tenant, core::GpuId gpu) {
    // Whether it has had its share is in doubt after a silence: then it may have woken up.
    if (!ledger.quota().is_throttled(tenant, gpu)) woke_[{tenant, gpu}] = ledger.now();
  }
  void note_standing(const Ledger& ledger, core::TenantId tenant) {
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      const core::GpuId gpu{index};
      if (ledger.standing(tenant, gpu).stands) note_woke(ledger, tenant, gpu);
    }
  }

  // Somebody woke up in this window and was put off, since the holder's burst was to end soon.
  bool may_be_put_off(const Ledger& ledger, core::TenantId holder, core::GpuId gpu) const {
    const Instant since = *ledger.standing(holder, gpu).held_since;
    return std::any_of(woke_.begin(), woke_.end(), [&](const auto& woke) {
      const auto& [tenant, where] = woke.first;
      return where == gpu && tenant != holder && woke.second >= since &&
             ledger.standing(tenant, gpu).stands;
    });
  }

  // Time alone ends windows that have lasted long enough, or for one that was put off in them; and
  // returns are a matter of time alone.
  void judge_end(const Ledger& ledger, const core::CloseWindow& close) {
    const Slot* slot = ledger.slot(close.client, close.gpu);
    if (slot == nullptr || slot->loose || slot->adopted) return;
    const LedgerGpu& gpu = ledger.gpu(close.gpu);
    const LedgerQuota& quota = ledger.quota();
    const core::TenantId tenant = ledger.client(close.client)->tenant;
    const Standing& standing = ledger.standing(tenant, close.gpu);
    if (gpu.policy.mode != core::Mode::automatic || quota.accounts(close.gpu) == 0) return;
    if (!standing.held_since || standing.idle || gpu.policy_since >= *standing.held_since) return;
    if (quota.may_be_throttled(tenant, close.gpu) || !gpu.memory.empty()) return;
    if (ledger.may_be_gang(tenant) || ledger.gang_stands()) return;
    const Duration held = ledger.now() - *standing.held_since;
    if (held >= gpu.policy.window || may_be_put_off(ledger, tenant, close.gpu)) return;
    complain("the window of " + text(tenant) + " on " + text(close.gpu) + " ended after " +
             text(held) + " for nobody who woke up");
  }

  static bool holds_any(const Ledger& ledger, core::TenantId tenant) {
    const std::vector<Standing>& on = ledger.tenant(tenant).on;
    return std::any_of(on.begin(), on.end(), [](const Standing& it) { return !!it.held_since; });
  }

  void judge_run_out(const Ledger& ledger, core::TenantId tenant, core::GpuId id) {
    const LedgerQuota& quota = ledger.quota();
    const LedgerQuota::State& state = quota.state(tenant, id);
    if (!state.chosen || state.busy.least == 0) return;
    const double credit = quota.credit(tenant, id).most;
    if (credit >= -kRoundedNs) return;
    complain("the window of " + text(tenant) + " goes on on " + text(id) + ", and it owes " +
             std::to_string(-credit / 1e3) + " us");
  }

  // What it took less what its cap gave it does not rise by more than what it may save.
  void judge_span(const Ledger& ledger, core::TenantId tenant, core::GpuId id) {
    const LedgerQuota& quota = ledger.quota();
    const double ahead = quota.taken(tenant, id) - quota.granted(tenant, id);
    Span& span = least_[{tenant, id}];
    if (span.cap != quota.cap(tenant)) span = {quota.cap(tenant), ahead, 0};
    span.least = std::min(span.least, ahead);
    const double late = kLateNs + 2 * static_cast<double>(ledger.longest_excuse().ns());
    const double most = quota.carry(tenant, id) + quota.quantum(tenant, id).most + late;
    span.most = std::max(span.most, most);
    if (ahead - span.least <= span.most) return;
    complain(text(tenant) + " took " + std::to_string((ahead - span.least) / 1e3) + " us more of " +
             text(id) + " than its cap; it may have saved " + std::to_string(span.most / 1e3) +
             " us");
  }

  void judge_books(const Ledger& ledger, core::TenantId tenant, const core::TenantOnGpu& on) {
    const LedgerQuota& quota = ledger.quota();
    if (on.cap != quota.cap(tenant)) complain(text(tenant) + " is said to have another cap");
    if (!quota.has_account(tenant, on.gpu)) return;
    const Between<double> credit = quota.credit(tenant, on.gpu);
    const auto said = static_cast<double>(on.credit.ns());
    if (said >= credit.least - kRoundedNs && said <= credit.most + kRoundedNs) return;
    complain(text(tenant) + " is said to have saved " + std::to_string(said / 1e3) + " us of " +
             text(on.gpu) + "; it has " + std::to_string(credit.least / 1e3) + " to " +
             std::to_string(credit.most / 1e3) + " us");
  }

  bool ticked_ = false;  // the event of this step
  // When one last began to want a GPU that it might have.
  std::map<std::pair<core::TenantId, core::GpuId>, Instant> woke_;
  struct Span {
    core::Share cap = core::kNoCap;
    double least = 0;
    double most = 0;
  };
  std::map<std::pair<core::TenantId, core::GpuId>, Span> least_;
};

}  // namespace

std::unique_ptr<Checker> make_caps() { return std::make_unique<Caps>(); }

}  // namespace nvs::sim
