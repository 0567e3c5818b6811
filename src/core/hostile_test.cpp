// SPDX-License-Identifier: Apache-2.0
// Events in any order, from clients that lie, repeat themselves and forget: whatever comes, the
// core keeps its promises to the others. Every run follows from its seed.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <type_traits>

#include <gtest/gtest.h>

#include "core/scheduler.h"
#include "core/trace_text.h"

namespace nvs::core {
namespace {

constexpr int kClients = 12;
constexpr int kTenants = 5;
constexpr int kGpus = 3;

class HostileRun {
 public:
  explicit HostileRun(std::uint64_t seed) : state_(seed * 2 + 1) {
    for (std::uint32_t i = 0; i < kGpus; ++i) step(GpuAdded{GpuId{i}, 0, {}});
  }

  void be_hostile(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ += Duration::from_us(static_cast<std::int64_t>(roll(roll(8) == 0 ? 400'000 : 3'000)));
      const auto due = scheduler_.next_deadline();
      if (due && *due <= now_) step(Tick{});
      step(any_event());
    }
  }

  // Everybody leaves: nothing may be left over.
  void go_home() {
    for (std::uint64_t id = 0; id <= kClients; ++id) step(ClientLeft{ClientId{id}});
    const NodeView view = scheduler_.view(now_);
    EXPECT_TRUE(view.tenants.empty());
    for (const GpuView& gpu : view.gpus) {
      EXPECT_FALSE(gpu.holder.has_value());
      EXPECT_EQ(gpu.waiting, 0U);
      EXPECT_TRUE(gpu.loose.empty());
      EXPECT_EQ(gpu.caps, 0U);
    }
    EXPECT_EQ(scheduler_.next_deadline(), std::nullopt);
  }

  // All that are here behave from now on; everyone who wants is served soon.
  void be_good() {
    for (std::uint64_t id = 0; id <= kTenants; ++id) {
      step(TenantResumed{TenantId{id}});
      step(CapSet{TenantId{id}, kNoCap});
      step(WeightSet{TenantId{id}, 100});  // a thousandth of a low class's share is no "soon"
    }
    for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
      step(PolicySet{GpuId{gpu}, {}});
      for (const ClientId client : here_) step(MemoryHeld{client, GpuId{gpu}});
    }
    std::set<std::pair<ClientId, GpuId>> unserved;
    for (const ClientId client : here_) {
      for (std::uint32_t gpu = 0; gpu < kGpus; ++gpu) {
        if (gates_[{client, GpuId{gpu}}].state == Gate::State::open) continue;
        step(Wanted{client, GpuId{gpu}});
        unserved.insert({client, GpuId{gpu}});
      }
    }
    for (int i = 0; i < 20'000 && !unserved.empty(); ++i) {
      const auto due = scheduler_.next_deadline();
      now_ += Duration::from_ms(1);
      if (due && *due <= now_) step(Tick{});
      const auto gates = gates_;
      for (const auto& [key, gate] : gates) {
        if (gate.state == Gate::State::open) unserved.erase(key);
        if (gate.state == Gate::State::told) {
          step(Drained{key.first, key.second, gate.grant, true});
        }
      }
    }
    EXPECT_TRUE(unserved.empty()) << "never served: " << unserved.size();
  }

 private:
  struct Gate {
    enum class State { closed, open, told, let_go } state = State::closed;
    GrantId grant{};
    Instant heard;
    Instant told;
    bool let_in = false;
  };
  using Key = std::pair<ClientId, GpuId>;

  std::uint64_t roll(std::uint64_t below) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33) % below;
  }

  ClientId any_client() { return ClientId{roll(kClients + 1)}; }
  GpuId any_gpu() { return GpuId{static_cast<std::uint32_t>(roll(kGpus + 1))}; }
  Priority any_priority() { return static_cast<Priority>(roll(kPriorities)); }
  Duration any_span() { return Duration::from_us(static_cast<std::int64_t>(roll(9'000))); }
  Share any_cap() { return roll(2) == 0 ? kNoCap : static_cast<Share>(roll(kWholeGpu * 3 / 2)); }
  GrantId grant_of(ClientId client, GpuId gpu) {
    const auto found = gates_.find({client, gpu});
    if (found == gates_.end() || roll(10) == 0) return GrantId{roll(50)};
    return found->second.grant;
  }

  std::uint64_t any_bytes() { return roll(3) == 0 ? 0 : (roll(12) << 30U) + roll(1000); }
  // Of allowances that it has, had or never gets; more than there is, and against what it said.
  Event any_memory(ClientId client, GpuId gpu) {
    const auto found = allowed_.find({client, gpu});
    std::uint64_t number = found == allowed_.end() ? 0 : found->second;
    if (roll(4) == 0) number = roll(number + 3);
    return MemoryHeld{client,        gpu,           number,       any_bytes(),
                      any_bytes(),   any_bytes(),   any_bytes(),  roll(8) == 0,
                      roll(20) == 0, roll(10) == 0, roll(10) == 0};
  }

  Event any_setting(TenantId tenant) {
    switch (roll(3)) {
      case 0:
        return PrioritySet{tenant, any_priority()};
      case 1:
        return WeightSet{tenant, static_cast<std::uint32_t>(roll(1200))};
      default:
        if (roll(3) == 0) return TenantPaused{tenant};
        return TenantResumed{tenant};
    }
  }
  Event any_quota(TenantId tenant, GpuId gpu) {
    if (roll(2) == 0) return CapSet{tenant, any_cap()};
    return CreditSet{tenant, gpu, any_span() - any_span() * 3};
  }

  Event any_event() {
    const ClientId client = any_client();
    const GpuId gpu = any_gpu();
    const GrantId grant = grant_of(client, gpu);
    switch (roll(32)) {
      case 0:
      case 1:
      case 2:
        return ClientJoined{client, TenantId{static_cast<std::uint64_t>(client) % kTenants},
                            any_priority(), static_cast<std::uint32_t>(roll(1200)), any_cap()};
      case 3:
        return ClientLeft{client};
      case 4:
        return WentIdle{client, gpu, grant, any_span()};
      case 5:
        return WentBusy{client, gpu, grant, any_span()};
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
      case 11:
        return Drained{client, gpu, grant, roll(2) == 0, any_span()};
      case 12:
        return StillDraining{client, gpu, grant};
      case 13:
        return DrainStalled{client, gpu, grant};
      case 14:
        return DrainRefused{client, gpu, grant};
      case 15:
        return FoundOpen{client, gpu, roll(2) == 0};
      case 16:
      case 17:
      case 18:
        return any_setting(TenantId{roll(kTenants + 1)});
      case 19:
        return Tick{};
      case 20:
        if (roll(10) == 0) {
          const auto mode = static_cast<Mode>(roll(3));
          return PolicySet{gpu, {mode, Duration::from_ms(static_cast<std::int64_t>(roll(50))), {}}};
        }
        [[fallthrough]];
      case 21:
        if (roll(2) == 0) return any_quota(TenantId{roll(kTenants + 1)}, gpu);
        [[fallthrough]];
      case 22:
      case 23:
      case 24:
        return any_memory(client, gpu);
      case 25:
        if (roll(4) == 0) return CapacitySet{gpu, roll(3) == 0 ? 0 : (4 + roll(28)) << 30U};
        [[fallthrough]];
      default:
        return Wanted{client, gpu};
    }
  }

  void step(const Event& event) {
    effects_.clear();
    // A gang may keep its place on a GPU where it has given all gates up.
    holders_.clear();
    for (const GpuView& gpu : scheduler_.view(now_).gpus) holders_.push_back(gpu.holder);
    const auto* found = std::get_if<FoundOpen>(&event);
    comes_late_ = found != nullptr && !found->in_time;
    note_said(event);
    scheduler_.step(now_, event, effects_);
    SCOPED_TRACE(text_of_step(now_, event, effects_));
    for (const Effect& effect : effects_) {
      std::visit([this](const auto& it) { check(it); }, effect);
    }
    check_caps();
    const auto due = scheduler_.next_deadline();
    if (std::holds_alternative<Tick>(event) && due) {
      EXPECT_GT(*due, now_);
    }
  }

  // Nobody runs beyond its cap, but to drain.
  void check_caps() {
    for (const TenantView& tenant : scheduler_.view(now_).tenants) {
      for (const TenantOnGpu& on : tenant.gpus) {
        if (on.cap == kNoCap || on.state != TenantState::running) continue;
        EXPECT_GT(on.credit, Duration{}) << static_cast<std::uint64_t>(tenant.tenant);
      }
    }
  }

  // What a client said lets its gate go, whether the core may count on it or not.
  void note_said(const Event& event) {
    std::visit(
        [this](const auto& it) {
          using Kind = std::remove_cvref_t<decltype(it)>;
          if constexpr (std::is_same_v<Kind, ClientJoined>) {
            here_.insert(it.client);
            tenant_of_.try_emplace(it.client, it.tenant);
          } else if constexpr (std::is_same_v<Kind, ClientLeft>) {
            here_.erase(it.client);
            tenant_of_.erase(it.client);
            std::erase_if(gates_, [&it](const auto& at) { return at.first.first == it.client; });
            std::erase_if(allowed_, [&it](const auto& at) { return at.first.first == it.client; });
          } else if constexpr (std::is_same_v<Kind, PolicySet>) {
            modes_[it.gpu] = it.policy.mode;
          } else if constexpr (std::is_same_v<Kind, Drained> ||
                               std::is_same_v<Kind, DrainRefused> ||
                               std::is_same_v<Kind, StillDraining> ||
                               std::is_same_v<Kind, DrainStalled>) {
            note_answer(it.client, it.gpu, it.grant,
                        std::is_same_v<Kind, Drained>        ? Gate::State::closed
                        : std::is_same_v<Kind, DrainRefused> ? Gate::State::let_go
                                                             : Gate::State::told);
          }
        },
        event);
  }
  void note_answer(ClientId client, GpuId gpu, GrantId grant, Gate::State state) {
    const auto found = gates_.find({client, gpu});
    if (found == gates_.end() || found->second.grant != grant) return;
    if (found->second.state == Gate::State::open && state == Gate::State::closed) {
      found->second.state = state;  // it gives its window up
    }
    // It was let in after it had drained, and drains again.
    if (found->second.state == Gate::State::closed && found->second.let_in) {
      found->second.let_in = state == Gate::State::told;
      if (state == Gate::State::let_go) found->second.state = state;
      return;
    }
    if (found->second.state != Gate::State::told) return;
    // A silence that was long enough is not made up for: nobody waits for this drain any more.
    if (now_ >= found->second.heard + kSilenceMax) late_.insert(found->first);
    found->second.state = state;
    found->second.heard = now_;
  }

  Gate& need(ClientId client, GpuId gpu) {
    EXPECT_TRUE(here_.contains(client)) << "an effect to a client that left";
    return gates_[{client, gpu}];
  }
  bool has_window(TenantId tenant, GpuId gpu) {
    return std::any_of(gates_.begin(), gates_.end(), [&](const auto& at) {
      return at.first.second == gpu && tenant_of_[at.first.first] == tenant &&
             at.second.state == Gate::State::open;
    });
  }
  void check_fresh(GrantId grant) {
    EXPECT_GT(grant, newest_) << "a grant was given twice";
    newest_ = grant;
  }

  void check(const OpenWindow& it) {
    Gate& gate = need(it.client, it.gpu);
    check_fresh(it.grant);
    const bool shared = modes_[it.gpu] == Mode::concurrent;
    const TenantId tenant = tenant_of_[it.client];
    const bool joins = shared || has_window(tenant, it.gpu) || holders_[index_of(it.gpu)] == tenant;
    for (const auto& [key, other] : gates_) {
      if (key.second != it.gpu || tenant_of_[key.first] == tenant_of_[it.client]) continue;
      EXPECT_TRUE(shared || other.state != Gate::State::open) << "two tenants on a GPU";
      const bool waited_for = other.state == Gate::State::told &&
                              now_ < other.heard + kSilenceMax && now_ < other.told + kDrainMax;
      EXPECT_FALSE(waited_for && !joins && !late_.contains(key))
          << "opened before the other had drained";
    }
    gate = {Gate::State::open, it.grant, now_, now_, false};
    late_.erase({it.client, it.gpu});
  }
  void check(const ChangeTerms& it) {
    EXPECT_EQ(need(it.client, it.gpu).grant, it.grant);
    EXPECT_EQ(need(it.client, it.gpu).state, Gate::State::open);
  }
  void check(const CloseWindow& it) {
    Gate& gate = need(it.client, it.gpu);
    // One that was found open, or is loose, runs beside the others; nobody waits for its answer
    // once it has refused, or if it came late.
    if (gate.state == Gate::State::let_go || comes_late_) late_.insert({it.client, it.gpu});
    EXPECT_NE(gate.state, Gate::State::told) << "closed twice";
    newest_ = std::max(newest_, it.grant);
    gate = {Gate::State::told, it.grant, now_, now_, false};
  }
  void check(const LetOneIn& it) {
    Gate& gate = need(it.client, it.gpu);
    EXPECT_NE(gate.state, Gate::State::open);
    if (gate.state == Gate::State::closed) check_fresh(it.grant);
    gate.let_in = gate.state == Gate::State::closed;
    gate.grant = it.grant;
  }
  void check(const SetAllowance& it) {
    need(it.client, it.gpu);
    std::uint64_t& number = allowed_[{it.client, it.gpu}];
    EXPECT_GT(it.number, number) << "an allowance was numbered twice";
    number = it.number;
  }
  void check(const GetReady& it) {
    EXPECT_NE(need(it.client, it.gpu).state, Gate::State::open);
    EXPECT_GT(it.in, Duration{});
  }

  Scheduler scheduler_;
  std::uint64_t state_;
  Instant now_ = Instant::from_ns(1);
  std::vector<Effect> effects_;
  std::set<ClientId> here_;
  std::map<ClientId, TenantId> tenant_of_;
  std::map<Key, Gate> gates_;
  std::map<Key, std::uint64_t> allowed_;  // the number of its latest allowance
  std::set<Key> late_;
  bool comes_late_ = false;  // the latest event is of one that does
  std::map<GpuId, Mode> modes_;
  std::vector<std::optional<TenantId>> holders_;  // before the latest step
  GrantId newest_{};
};

TEST(Hostile, InvariantsHoldAndEverybodyLeavesWithoutATrace) {
  for (std::uint64_t seed = 1; seed <= 100 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    HostileRun run(seed);
    run.be_hostile(2000);
    run.go_home();
  }
}

TEST(Hostile, EverybodyIsServedOnceTheyBehave) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    HostileRun run(seed);
    run.be_hostile(500);
    run.be_good();
    run.go_home();
  }
}

}  // namespace
}  // namespace nvs::core
