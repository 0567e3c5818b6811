// SPDX-License-Identifier: Apache-2.0
// When a drain stalls, every client of the tenant that waits at a closed gate is let in with one
// submission, in the same step; nobody is let in for another reason. One that is draining itself is
// ahead of those rather than behind: it must be let in only where nobody else waits, or they would
// never catch up.
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
    const auto* stalled = std::get_if<core::DrainStalled>(&event);
    if (stalled == nullptr) return;
    const Slot* slot = ledger.slot(stalled->client, stalled->gpu);
    if (slot == nullptr || slot->gate != Slot::Gate::closing || slot->grant != stalled->grant) {
      return;
    }
    stalled_ = true;
    for (const core::ClientId client :
         ledger.tenant(ledger.client(stalled->client)->tenant).clients) {
      for (std::uint32_t gpu = 0; gpu < ledger.gpus().size(); ++gpu) {
        const Slot& other = *ledger.slot(client, core::GpuId{gpu});
        if (!other.wants || other.gate == Slot::Gate::open) continue;
        (other.gate == Slot::Gate::closed ? due_ : optional_).emplace_back(client, gpu);
      }
    }
    if (due_.empty()) due_.swap(optional_);
  }

  void on_effect(const Ledger&, const core::Effect& effect) override {
    // A window that opens in this step lets in all that waits.
    if (const auto* open = std::get_if<core::OpenWindow>(&effect)) {
      std::erase(due_, std::pair(open->client, core::index_of(open->gpu)));
    }
    const auto* let = std::get_if<core::LetOneIn>(&effect);
    if (let == nullptr) return;
    const std::pair who(let->client, core::index_of(let->gpu));
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
  bool stalled_ = false;
  using Gates = std::vector<std::pair<core::ClientId, std::uint32_t>>;
  Gates due_;       // to be let in
  Gates optional_;  // may be
};

}  // namespace

std::unique_ptr<Checker> make_catch_up() { return std::make_unique<CatchUp>(); }

}  // namespace nvs::sim
