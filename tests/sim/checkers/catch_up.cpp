// SPDX-License-Identifier: Apache-2.0
// When a drain stalls, every client of the tenant that waits at a closed gate is let in with one
// submission, in the same step. One that is draining itself is ahead of those rather than behind:
// it must be let in only where nobody else waits, or they would never catch up. When what somebody
// was let in with is done, more waits there, and the stall goes on, the next is let in at once.
// Somebody may be let in when the stall is just over; if that stalls, the rest is let in after it.
// One that was let in just now, and of which nothing was heard since, may have to wait for the
// next. Nobody is let in for another reason.
#include <map>
#include <utility>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

class CatchUp : public Checker {
 public:
  CatchUp() : Checker("catch_up") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    due_.clear();
    optional_.clear();
    stalled_ = false;
    if (const auto* stalled = std::get_if<core::DrainStalled>(&event)) on_stall(ledger, *stalled);
    if (const auto* drained = std::get_if<core::Drained>(&event)) on_drained(ledger, *drained);
  }

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    // A window that opens in this step lets in all that waits.
    if (const auto* open = std::get_if<core::OpenWindow>(&effect)) {
      std::erase(due_, Gate(open->client, core::index_of(open->gpu)));
      let_in_.erase(Gate(open->client, core::index_of(open->gpu)));
    }
    // One that was let in could not drain, and is asked to like any other.
    if (const auto* close = std::get_if<core::CloseWindow>(&effect)) {
      let_in_.erase(Gate(close->client, core::index_of(close->gpu)));
    }
    const auto* let = std::get_if<core::LetOneIn>(&effect);
    if (let == nullptr) return;
    const Gate who(let->client, core::index_of(let->gpu));
    const Slot* slot = ledger.slot(let->client, let->gpu);
    latest_[who] = ledger.now();
    if (slot != nullptr && slot->gate == Slot::Gate::closed) let_in_[who] = let->grant;
    if (std::erase(due_, who) + std::erase(optional_, who) == 0) {
      complain(text(let->client) + " let in on " + text(let->gpu) +
               (stalled_ ? ", where it waits for nothing" : " without a stalled drain"));
    }
  }

  void on_settled(const Ledger&, const std::optional<Instant>&) override {
    if (due_.empty()) return;
    complain("a drain stalls while " + text(due_.front().first) + " of the same tenant waits for " +
             text(core::GpuId{due_.front().second}) + " and is not let in");
  }

 private:
  using Gate = std::pair<core::ClientId, std::uint32_t>;

  void on_stall(const Ledger& ledger, const core::DrainStalled& stalled) {
    const Slot* slot = ledger.slot(stalled.client, stalled.gpu);
    if (slot == nullptr || slot->grant != stalled.grant) return;
    if (slot->gate == Slot::Gate::closed && slot->let_in) {
      stalled_ = true;
      for_each_gate(ledger, stalled.client, [this](Gate gate, const Slot& other) {
        if (!other.wants || other.memory.is_swapped()) return;
        if (other.gate == Slot::Gate::closed && !other.let_in) due_.push_back(gate);
      });
    }
    if (!slot->stalled) return;
    stalled_ = true;
    for_each_gate(ledger, stalled.client, [this](Gate gate, const Slot& other) {
      if (!other.wants || other.gate == Slot::Gate::open) return;
      if (other.memory.is_swapped()) return;  // it lacks memory, or may
      (other.gate == Slot::Gate::closed ? due_ : optional_).push_back(gate);
    });
    if (due_.empty()) due_.swap(optional_);
    const auto is_recent = [&](const Gate& gate) {
      const auto at = latest_.find(gate);
      return at != latest_.end() && ledger.now() - at->second < core::kLetInEvery;
    };
    for (const Gate& gate : due_) {
      if (is_recent(gate)) optional_.push_back(gate);
    }
    std::erase_if(due_, is_recent);
  }

  void on_drained(const Ledger& ledger, const core::Drained& drained) {
    const Slot* slot = ledger.slot(drained.client, drained.gpu);
    const Gate gate(drained.client, core::index_of(drained.gpu));
    const auto let = let_in_.find(gate);
    if (slot == nullptr || let == let_in_.end() || let->second != drained.grant) return;
    let_in_.erase(let);
    if (slot->grant != drained.grant || slot->gate != Slot::Gate::closed || !drained.waiting)
      return;
    for_each_gate(ledger, drained.client,
                  [this](Gate, const Slot& other) { stalled_ = stalled_ || other.stalled; });
    if (stalled_ && !slot->memory.is_swapped()) due_.push_back(gate);
  }

  // All of the client's tenant.
  template <class Do>
  static void for_each_gate(const Ledger& ledger, core::ClientId any, Do do_it) {
    for (const core::ClientId client : ledger.tenant(ledger.client(any)->tenant).clients) {
      for (std::uint32_t gpu = 0; gpu < ledger.gpus().size(); ++gpu) {
        do_it(Gate(client, gpu), *ledger.slot(client, core::GpuId{gpu}));
      }
    }
  }

  bool stalled_ = false;
  std::vector<Gate> due_;                 // to be let in
  std::vector<Gate> optional_;            // may be
  std::map<Gate, core::GrantId> let_in_;  // and not heard of since
  std::map<Gate, Instant> latest_;        // when they last were
};

}  // namespace

std::unique_ptr<Checker> make_catch_up() { return std::make_unique<CatchUp>(); }

}  // namespace nvs::sim
