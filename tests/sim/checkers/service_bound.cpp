// SPDX-License-Identifier: Apache-2.0
// Every tenant that waits is served within a bound. It follows from the rules of ADR-0008:
//
// A *piece* is the longest time that one window keeps a GPU: its length, and the slowest drain.
// While a tenant waits, its place in the order of service stands still, and that of everyone who is
// served goes up. When it lost its window it was ahead of the least served by no more than that
// window: a piece, by its weight. Each other of its class may catch up with that, which takes it
// w/w' pieces, and one piece more, because a window that has begun is not cut short. One that
// joins later starts with the least served, or a little ahead, and is one more of them.
//
// Where other classes are about, the class gets its floor share of the time at least: what it needs
// takes so many times longer. Each of its windows may also have to wait for the rest of one of a
// higher class, and for one that is owed to another class.
//
// Gangs: a GPU may be kept for one until the slowest of its GPUs has drained, and its window is as
// long as that of the slowest: a piece is that of all GPUs together. One that could not start is
// let ahead of the others by some windows when it can, and no more.
// A gang is overdue when it has waited for as long as its class's share of a GPU takes to come to a
// window for each tenant of the class, by weight. Then it waits for gangs that are older, each of
// them once: until what is open or reserved has ended, and for the window itself.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/class_share.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// For messages under way: those of late processes take a quarter of a second.
constexpr Duration kLeast = Duration::from_s(1);
constexpr std::int64_t kWeightMax = 1000;  // of those that are drawn
constexpr Duration kInterval = Duration::from_ms(50);

class ServiceBound : public Checker {
 public:
  ServiceBound() : Checker("service_bound") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    if (std::holds_alternative<core::ClientJoined>(event)) joined_at_.push_back(ledger.now());
    // Another order: all waits begin anew.
    if (std::holds_alternative<core::PrioritySet>(event) ||
        std::holds_alternative<core::WeightSet>(event)) {
      reordered_ = ledger.now();
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    if (ledger.now() - judged_ < kInterval) return;
    judged_ = ledger.now();
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      for (const core::TenantId tenant : ledger.gpus()[index].waiting) {
        judge(ledger, core::GpuId{index}, tenant);
      }
    }
  }

 private:
  void judge(const Ledger& ledger, core::GpuId id, core::TenantId mine) {
    Instant since = std::max(*ledger.standing(mine, id).waits_since, reordered_);
    for (const LedgerGpu& gpu : ledger.gpus()) since = std::max(since, gpu.policy_since);
    const Duration waited = ledger.now() - since;
    const Duration bound = widest(id, mine, since, bound_for(ledger, id, mine, since));
    if (waited > bound && !has_gone_silent(ledger, mine, id)) {
      complain(text(mine) + " has waited " + text(waited) + " for " + text(id) + "; bound " +
               text(bound));
    }
  }

  // Of the wait so far. When whoever it waited for leaves, its wait does not become longer; but it
  // has waited already.
  Duration widest(core::GpuId id, core::TenantId mine, Instant since, Duration bound) {
    Wait& wait = waits_[{mine, id}];
    if (wait.since != since) wait = {since, {}};
    wait.bound = std::max(wait.bound, bound);
    return wait.bound;
  }

  // One of its own clients does not answer, or cannot drain: then it is not waiting alone.
  static bool has_gone_silent(const Ledger& ledger, core::TenantId mine, core::GpuId id) {
    for (const core::ClientId client : ledger.tenant(mine).clients) {
      const Slot& slot = *ledger.slot(client, id);
      if (slot.given_up || slot.loose || slot.gate == Slot::Gate::closing) return true;
    }
    return false;
  }

  static Duration longest_window(const LedgerGpu& gpu) {
    return gpu.policy.mode == core::Mode::serial ? gpu.policy.turn.value_or(core::kSerialTurn)
                                                 : gpu.policy.window;
  }

  static Duration piece_of(const Ledger& ledger, core::GpuId id) {
    return longest_window(ledger.gpu(id)) + ledger.slowest_drain(id) + ledger.longest_excuse();
  }

  Duration bound_for(const Ledger& ledger, core::GpuId id, core::TenantId mine,
                     Instant since) const {
    int gangs = 0;
    for (std::size_t other = 0; other < ledger.tenants().size(); ++other) {
      gangs += ledger.may_be_gang(core::TenantId{other}) ? 1 : 0;
    }
    const Duration slack = kLeast + ledger.excused();
    if (gangs == 0) return slack + on_one(ledger, id, mine, since, piece_of(ledger, id));
    Duration piece;
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      piece += piece_of(ledger, core::GpuId{index});
    }
    const Duration alone = on_one(ledger, id, mine, since, piece);
    if (!ledger.may_be_gang(mine)) return slack + alone;
    // It may also have had no need of its other GPUs for a while.
    return slack + std::max(alone, patience(ledger, mine, since) + piece * 2 * gangs);
  }

  // Until it and all older gangs of its class are overdue.
  Duration patience(const Ledger& ledger, core::TenantId mine, Instant since) const {
    const LedgerTenant& me = ledger.tenant(mine);
    Duration window;
    for (const LedgerGpu& gpu : ledger.gpus()) window = std::max(window, longest_window(gpu));
    std::int64_t weights = 0;
    std::int64_t lightest = me.weight;
    for (const LedgerTenant& other : ledger.tenants()) {
      if (!other.here || other.priority != me.priority) continue;
      weights += other.weight;
      if (ledger.may_be_gang(number_of(ledger, other))) {
        lightest = std::min<std::int64_t>(lightest, other.weight);
      }
    }
    for (const Instant joined : joined_at_) weights += joined > since ? kWeightMax : 0;
    const auto share = std::min<std::int64_t>(share_of(me.priority), core::kFloorShareNormal);
    return window * 1000 / share * weights / lightest;
  }

  static core::TenantId number_of(const Ledger& ledger, const LedgerTenant& tenant) {
    return static_cast<core::TenantId>(&tenant - ledger.tenants().data());
  }

  Duration on_one(const Ledger& ledger, core::GpuId id, core::TenantId mine, Instant since,
                  Duration piece) const {
    const LedgerTenant& me = ledger.tenant(mine);
    std::int64_t hundredths = 100;  // of pieces that its class takes before it
    bool classes = false;
    for (const LedgerTenant& other : ledger.tenants()) {
      if (!other.here || &other == &me || !was_about(other, id)) continue;
      if (other.priority == me.priority) {
        hundredths += 100 + 100 * other.weight / me.weight;
        if (ledger.may_be_gang(number_of(ledger, other))) {
          hundredths += core::kGangCreditWindows * other.weight;
        }
      } else {
        classes = true;
      }
    }
    for (const Instant joined : joined_at_) hundredths += joined > since ? 200 : 0;
    const Duration own = piece * hundredths / 100;
    if (!classes) return own;
    return own * 1000 / share_of(me.priority) + own * 3;
  }

  static bool was_about(const LedgerTenant& tenant, core::GpuId id) {
    const Standing& standing = tenant.on[core::index_of(id)];
    return standing.held_last || standing.held_since || standing.waits_since;
  }

  struct Wait {
    Instant since;
    Duration bound;
  };

  Instant judged_;
  Instant reordered_;
  std::map<std::pair<core::TenantId, core::GpuId>, Wait> waits_;
  std::vector<Instant> joined_at_;
};

}  // namespace

std::unique_ptr<Checker> make_service_bound() { return std::make_unique<ServiceBound>(); }

}  // namespace nvs::sim
