// SPDX-License-Identifier: Apache-2.0
// Whoever slept takes the GPU in the middle of a window of its own class. Which of two was served
// less is reckoned to the advantage of the holder: what that has used since the other one left has
// to make up for the other's last window, and for two of its own.
#include <algorithm>
#include <optional>
#include <vector>

#include "core/seat.h"
#include "tests/sim/checkers/checkers.h"
#include "tests/sim/checkers/words.h"

namespace nvs::sim {
namespace {

// How far ahead the other must be, and what taking the GPU is charged; several times.
constexpr Duration kSlack = (core::kWakeupLead + core::kSwitchCost) * 5;

class Wakeups : public Checker {
 public:
  Wakeups() : Checker("wakeups") {}

  void on_event(const Ledger& ledger, const core::Event& event) override {
    const auto* wanted = std::get_if<core::Wanted>(&event);
    const LedgerClient* client = wanted != nullptr ? ledger.client(wanted->client) : nullptr;
    if (client != nullptr && client->here && ledger.knows(wanted->gpu)) {
      wakes_ = Place{client->tenant, wanted->gpu};
      if (at(*wakes_).wants) wakes_.reset();
    }
    // Another order of service: nothing is known of the past.
    if (std::holds_alternative<core::PrioritySet>(event) ||
        std::holds_alternative<core::WeightSet>(event) ||
        std::holds_alternative<core::PolicySet>(event)) {
      for (std::vector<Past>& pasts : pasts_) {
        for (Past& past : pasts) past.left.reset();
      }
    }
  }

  void on_settled(const Ledger& ledger, const std::optional<Instant>&) override {
    if (wakes_) judge(ledger, wakes_->gpu, wakes_->tenant);
    wakes_.reset();
    for (std::uint32_t index = 0; index < ledger.gpus().size(); ++index) {
      // Time beside others is no service, and where there are classes windows may be owed to them.
      const bool forget = ledger.is_hampered(core::GpuId{index}) || has_classes(ledger);
      for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
        const Place place{core::TenantId{number}, core::GpuId{index}};
        note(ledger, place, at(place));
        if (forget) at(place).left.reset();
      }
    }
  }

 private:
  struct Place {
    core::TenantId tenant;
    core::GpuId gpu;
  };
  struct Left {
    Duration held;               // its last window
    std::vector<Duration> used;  // by all, at the end of that
  };
  // Of a tenant on a GPU, as of the last step.
  struct Past {
    bool wants = false;
    bool holds = false;
    bool rested = false;  // it has had no work for a moment: it may work in bursts, and be spared
    std::optional<Left> left;
  };

  Past& at(const Place& place) {
    const std::size_t gpu = core::index_of(place.gpu);
    const auto tenant = static_cast<std::size_t>(place.tenant);
    if (pasts_.size() <= gpu) pasts_.resize(gpu + 1);
    if (pasts_[gpu].size() <= tenant) pasts_[gpu].resize(tenant + 1);
    return pasts_[gpu][tenant];
  }

  static void note(const Ledger& ledger, const Place& place, Past& past) {
    if (!ledger.tenant(place.tenant).here) {
      past = {};
      return;
    }
    const Standing& now = ledger.standing(place.tenant, place.gpu);
    const bool holds = now.held_since.has_value();
    past.rested |= holds ? now.idle : past.holds && !now.wants;
    past.wants = now.wants;
    if (holds || !std::exchange(past.holds, holds)) {
      past.holds = holds;
      return;
    }
    past.left = Left{ledger.now() - now.held_before, {}};
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      past.left->used.push_back(used(ledger, core::TenantId{number}, place.gpu).most);
    }
  }

  static Between<Duration> used(const Ledger& ledger, core::TenantId id, core::GpuId gpu) {
    return ledger.tenant(id).here ? ledger.used(id, gpu) : Between<Duration>{};
  }

  // With work and a window that nothing protects.
  std::optional<core::TenantId> holder(const Ledger& ledger, core::GpuId id) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (gpu.open.size() != 1) return std::nullopt;
    const Slot& slot = *ledger.slot(gpu.open.front(), id);
    if (slot.gate != Slot::Gate::open || slot.loose || slot.found || slot.idle) return std::nullopt;
    const core::TenantId holder = ledger.client(gpu.open.front())->tenant;
    return at({holder, id}).rested ? std::nullopt : std::optional(holder);
  }

  static bool has_classes(const Ledger& ledger) {
    std::optional<core::Priority> first;
    for (const LedgerTenant& tenant : ledger.tenants()) {
      if (tenant.here && first.value_or(tenant.priority) != tenant.priority) return true;
      if (tenant.here) first = tenant.priority;
    }
    return false;
  }

  // Gangs that are overdue are not disturbed; nor is service all that counts with memory or caps.
  static bool is_plain(const Ledger& ledger, core::GpuId id) {
    const LedgerGpu& gpu = ledger.gpu(id);
    if (gpu.policy.mode != core::Mode::automatic || !gpu.memory.empty()) return false;
    if (ledger.quota().accounts(id) > 0) return false;
    for (std::size_t number = 0; number < ledger.tenants().size(); ++number) {
      const core::TenantId tenant{number};
      if (ledger.tenant(tenant).here && ledger.may_be_gang(tenant)) return false;
    }
    return true;
  }

  void judge(const Ledger& ledger, core::GpuId id, core::TenantId mine) {
    if (!ledger.standing(mine, id).waits_since) return;
    const std::optional<Left>& left = at({mine, id}).left;
    const std::optional<core::TenantId> other = holder(ledger, id);
    if (!left || !other || static_cast<std::size_t>(*other) >= left->used.size()) return;
    const LedgerTenant& me = ledger.tenant(mine);
    const LedgerTenant& it = ledger.tenant(*other);
    if (!is_plain(ledger, id)) return;
    const Duration used_then = left->used[static_cast<std::size_t>(*other)];
    const Duration window = ledger.gpu(id).policy.window;
    const core::Service gained = core::scaled(ledger.used(*other, id).least - used_then, it.weight);
    const core::Service lead = core::scaled(left->held + kSlack, me.weight);
    if (gained <= lead + core::scaled(window * 2, it.weight)) return;
    complain(text(*other) + " goes on on " + text(id) + " although " + text(mine) +
             " wakes, which was served far less");
  }

  std::optional<Place> wakes_;            // in this step
  std::vector<std::vector<Past>> pasts_;  // by GPU and tenant
};

}  // namespace

std::unique_ptr<Checker> make_wakeups() { return std::make_unique<Wakeups>(); }

}  // namespace nvs::sim
