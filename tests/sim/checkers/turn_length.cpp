// SPDX-License-Identifier: Apache-2.0
// A turn is as long as it was set, or at least five times as long as what has to move takes. A turn
// ends when somebody who has work is told to move out; it begins after the end of the one before,
// when all that are to come in are there. What was moved out then has to come in at least. What
// else may make somebody go (less memory, more that cannot be moved, other settings) is no turn.
#include <algorithm>
#include <map>
#include <set>

#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// For so long somebody may have to go for another reason than the end of a turn.
constexpr Duration kSettles = Duration::from_s(1);

class TurnLength : public Checker {
 public:
  explicit TurnLength(RunTraits traits) : Checker("turn_length"), traits_(traits) {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    turns_.resize(ledger.gpus().size());
    const auto* drained = std::get_if<core::Drained>(&event);
    const LedgerClient* client = drained != nullptr ? ledger.client(drained->client) : nullptr;
    drains_ = client != nullptr ? std::optional(client->tenant) : std::nullopt;
    if (const auto* wanted = std::get_if<core::Wanted>(&event)) {
      if (ledger.slot(wanted->client, wanted->gpu) != nullptr) note(ledger, *wanted);
    } else if (const auto* held = std::get_if<core::MemoryHeld>(&event)) {
      if (ledger.knows(held->gpu)) note(ledger, *held);
    } else if (std::holds_alternative<core::ClientLeft>(event) ||
               std::holds_alternative<core::TenantPaused>(event)) {
      // What was to come in may be less now.
      for (Turn& turn : turns_) disturb(turn, ledger.now());
    } else if (const auto gpu = disturbed_by(event); gpu && ledger.knows(*gpu)) {
      disturb(turns_[core::index_of(*gpu)], ledger.now());
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    for (std::uint32_t gpu = 0; gpu < turns_.size(); ++gpu) {
      const core::GpuId id{gpu};
      if (ledger.is_hampered(id) || gives_way(ledger, id)) disturb(turns_[gpu], ledger.now());
    }
  }

  void on_effect(const Ledger& ledger, const core::Effect& effect) override {
    if (const auto* close = std::get_if<core::CloseWindow>(&effect)) {
      if (ledger.client(close->client) != nullptr) note(ledger, *close);
    }
    const auto* allow = std::get_if<core::SetAllowance>(&effect);
    const Slot* slot = allow != nullptr ? ledger.slot(allow->client, allow->gpu) : nullptr;
    if (slot == nullptr) return;
    if (correct(ledger.now(), *allow, slot->memory.resident)) return;
    const core::TenantId tenant = ledger.client(allow->client)->tenant;
    if (ledger.tenant(tenant).paused) return;
    const bool had_all = !ledger.standing(tenant, allow->gpu).swapped;
    if (allow->bytes >= slot->memory.resident) return;
    if (!slot->wants || slot->gate != Slot::Gate::closed || !had_all) return;
    Turn& turn = turns_[core::index_of(allow->gpu)];
    // Whoever had its window is told when all of it has drained, with those that were let in: it
    // was decided when the window was ended, or later.
    const Closed& closed = closed_[{tenant, allow->gpu}];
    const Instant decided = drains_ == tenant ? closed.at : ledger.now();
    // One without work has to go before the turn ends, and may have some again by then.
    if (drains_ == tenant && closed.has_rested(ledger.now())) return;
    if (ledger.quota().may_be_throttled(tenant, allow->gpu)) return;
    if (!turn.known || turn.told < decided) {
      // A gang is told when it has drained on its other GPUs too: it was decided before.
      const bool gang = ledger.may_be_gang(tenant);
      if (!gang) judge(ledger, allow->gpu, turn);
      turn.known = !gang && ledger.now() - turn.disturbed > kSettles;
      // Where nobody has to come in, the next one begins when that was decided: others that are in
      // run on while the last ones drain.
      turn.began = decided;
      turn.told = ledger.now();
      turn.out.clear();
    }
    turn.out[allow->client] = slot->memory.resident - allow->bytes;
  }

 private:
  struct Turn {
    bool known = false;  // nothing but turns has happened since the last one ended
    Instant began;       // not before that
    Instant told;        // who had to go for it
    std::map<core::ClientId, std::uint64_t> out;
    Instant disturbed;
  };

  // How a tenant's window was ended.
  struct Closed {
    Instant at;
    std::optional<Instant> idle_since;    // it had no work
    std::optional<Instant> wanted_again;  // after that

    // It had none for so long that its turn ended with it, perhaps while it drained.
    bool has_rested(Instant now) const {
      return idle_since && wanted_again.value_or(now) - *idle_since >= core::kRestMin;
    }
  };

  void note(const Ledger& ledger, const core::CloseWindow& close) {
    const core::TenantId tenant = ledger.client(close.client)->tenant;
    Closed& closed = closed_[{tenant, close.gpu}];
    if (closed.at == ledger.now()) return;  // of all its clients the first one counts
    const Standing& standing = ledger.standing(tenant, close.gpu);
    closed = {ledger.now(), std::nullopt, std::nullopt};
    if (standing.held_since && standing.idle) closed.idle_since = standing.idle_since;
  }

  void note(const Ledger& ledger, const core::Wanted& wanted) {
    Closed& closed = closed_[{ledger.client(wanted.client)->tenant, wanted.gpu}];
    if (!closed.wanted_again) closed.wanted_again = ledger.now();
  }

  // What is said twice in a step is meant as it was said last.
  bool correct(Instant now, const core::SetAllowance& allow, std::uint64_t resident) {
    Turn& turn = turns_[core::index_of(allow.gpu)];
    const auto before = turn.out.find(allow.client);
    if (turn.told != now || before == turn.out.end()) return false;
    before->second = resident - std::min(resident, allow.bytes);
    return true;
  }

  // Whoever has had its share gives its place up, and others come in, in the middle of a turn.
  static bool gives_way(const Ledger& ledger, core::GpuId id) {
    if (ledger.quota().accounts(id) == 0) return false;
    const std::vector<core::ClientId>& clients = ledger.gpu(id).memory;
    return std::any_of(clients.begin(), clients.end(), [&](core::ClientId client) {
      return ledger.quota().may_be_throttled(ledger.client(client)->tenant, id);
    });
  }

  static void disturb(Turn& turn, Instant now) {
    turn.known = false;
    turn.disturbed = now;
  }

  static std::optional<core::GpuId> disturbed_by(const core::Event& event) {
    if (const auto* set = std::get_if<core::CapacitySet>(&event)) return set->gpu;
    if (const auto* set = std::get_if<core::PolicySet>(&event)) return set->gpu;
    if (const auto* refused = std::get_if<core::DrainRefused>(&event)) return refused->gpu;
    return std::nullopt;
  }

  void note(const Ledger& ledger, const core::MemoryHeld& held) {
    Turn& turn = turns_[core::index_of(held.gpu)];
    std::uint64_t& fixed = fixed_[{held.client, held.gpu}];
    const bool grows = std::exchange(fixed, held.fixed) < held.fixed;
    // Whoever is in and asks for more than there is gives its turn up.
    const bool asks = held.asked > 0;
    if (grows || held.is_short || asks) disturb(turn, ledger.now());
    if (asks) {
      askers_.insert({held.gpu, held.client});
    } else {
      askers_.erase({held.gpu, held.client});
    }
  }

  void judge(const Ledger& ledger, core::GpuId id, const Turn& turn) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (!turn.known || ledger.is_hampered(id)) return;
    const auto asker = askers_.lower_bound({id, core::ClientId{}});
    if (asker != askers_.end() && asker->first == id) return;
    const Duration lasted = ledger.now() - turn.began;
    Duration least;
    if (gpu.policy.turn) {
      least = *gpu.policy.turn;
    } else {
      const std::uint64_t rate = std::max<std::uint64_t>(traits_.bus_rate, core::kSwapRate);
      std::uint64_t bytes = 0;
      for (const auto& [client, out] : turn.out) {
        // What is back came into room that became free in the middle of the turn (ADR-0014): it has
        // not to come in at its end, and nobody was made to go for it.
        const Slot* slot = ledger.slot(client, id);
        if (slot != nullptr) bytes += std::min(out, slot->memory.away);
      }
      const auto us = static_cast<std::int64_t>(bytes / (rate / 1'000'000));
      least = std::max(core::kTurnMin, Duration::from_us(us) * core::kTurnSwaps);
    }
    if (lasted >= least) return;
    complain("a turn on " + text(id) + " lasted " + text(lasted) + " instead of " + text(least));
  }

  RunTraits traits_;
  std::vector<Turn> turns_;
  std::optional<core::TenantId> drains_;  // who has drained in this step
  std::map<std::pair<core::TenantId, core::GpuId>, Closed> closed_;
  std::set<std::pair<core::GpuId, core::ClientId>> askers_;
  std::map<std::pair<core::ClientId, core::GpuId>, std::uint64_t> fixed_;
};

}  // namespace

std::unique_ptr<Checker> make_turn_length(RunTraits traits) {
  return std::make_unique<TurnLength>(traits);
}

}  // namespace nvs::sim
