// SPDX-License-Identifier: Apache-2.0
// What tenants with a cap may still have of each GPU, reckoned a second time from events and
// effects alone. These do not say everything: a client that does not answer may or may not be at
// work, and who has been idle for a while is noticed when the core looks. So it is reckoned twice,
// to the tenant's disadvantage and to its advantage; where all is known, both are the same.
#pragma once

#include <cstdint>
#include <vector>

#include "base/instant.h"
#include "core/event.h"

namespace nvs::sim {

template <class T>
struct Between {
  T least{};
  T most{};
  bool operator==(const Between&) const = default;
};

// For how long somebody has the GPU while others wait.
inline Duration stay_of(const core::GpuPolicy& policy) {
  if (policy.mode != core::Mode::serial) return policy.window;
  return policy.turn.value_or(core::kSerialTurn);
}

class LedgerQuota {
 public:
  // What the clients of a tenant are on one GPU.
  struct State {
    Between<int> busy;     // so many of them
    bool wants = false;    // somebody stands at a closed gate
    bool asks = false;     // for memory
    bool paused = false;   // the tenant
    bool holds = false;    // it has its window, or is giving it up
    bool closing = false;  // of these the second
    bool beside = false;   // somebody is open without it: could not drain, or does not answer
    bool chosen = false;   // somebody works in a window that nobody asked it to give up
    bool operator==(const State&) const = default;
  };

  // In this order: time passes, something happens, and the core may have looked at it.
  void begin(Instant now, bool ticked);
  void end(bool ticked);

  void add_gpu() { gpus_.emplace_back(); }
  void set_policy(core::GpuId gpu, const core::GpuPolicy& policy);
  // The span in which a cap holds for one that is alone, and for how long others may have the GPU
  // until it is one's turn.
  void set_period(core::GpuId gpu, Between<Duration> period, Between<Duration> round);
  void set_cap(core::TenantId tenant, core::Share cap);
  void set_state(core::TenantId tenant, core::GpuId gpu, const State& state);
  // From now on it has a place on the GPU, and an account if it has a cap.
  void need_account(core::TenantId tenant, core::GpuId gpu);
  void set_credit(core::TenantId tenant, core::GpuId gpu, Duration credit);
  // What set_state() has said since `before` was so for a while already.
  struct Before {
    State state;
    Instant since;
  };
  Before before(core::TenantId tenant, core::GpuId gpu) const;
  void backdate(core::TenantId tenant, core::GpuId gpu, const Before& before, Duration span);
  void forget(core::TenantId tenant);

  // Tenants that may be throttled now and were not, or the other way round; each is told once.
  std::vector<core::TenantId> take_changed();

  const State& state(core::TenantId tenant, core::GpuId gpu) const;
  Between<Duration> used(core::TenantId tenant, core::GpuId gpu) const;
  bool has_account(core::TenantId tenant, core::GpuId gpu) const;
  // Of those that have one, in nanoseconds; negative: owed.
  Between<double> credit(core::TenantId tenant, core::GpuId gpu) const;
  // It ran out and has not saved enough since, here or on another GPU that it needs as well.
  bool may_be_throttled(core::TenantId tenant, core::GpuId gpu) const;
  bool is_throttled(core::TenantId tenant, core::GpuId gpu) const;
  // The same, here.
  bool has_run_out(core::TenantId tenant, core::GpuId gpu) const;
  // What it took where it could have been stopped, and what its cap gave it, before scaling and
  // after, in nanoseconds, all in all.
  double taken(core::TenantId tenant, core::GpuId gpu) const;
  double granted(core::TenantId tenant, core::GpuId gpu) const;
  Between<double> scaled(core::TenantId tenant, core::GpuId gpu) const;
  // What it saves up before it runs again, and at most.
  Between<double> quantum(core::TenantId tenant, core::GpuId gpu) const;
  double carry(core::TenantId tenant, core::GpuId gpu) const;
  // What it keeps of its savings when a cap changes.
  Between<double> kept_after_change(core::TenantId tenant, core::GpuId gpu) const;
  // The sum of all that count now, in parts of one.
  Between<double> sum(core::GpuId gpu) const;
  std::size_t accounts(core::GpuId gpu) const { return gpus_[core::index_of(gpu)].capped.size(); }
  core::Share cap(core::TenantId tenant) const;
  bool has_caps() const { return caps_ > 0; }

 private:
  struct Activity {
    bool active = false;
    Instant active_since;  // but for short pauses
    Instant ended;         // when it last was
    bool counts = false;   // or was not long ago
    Instant lapses;
    double kept = 0;
  };
  struct Side {
    double credit = 0;
    bool throttled = false;
    double earned = 0;  // all in all
  };
  struct Seat {
    State state;
    bool known = false;
    bool has_account = false;
    bool moved = false;  // its state has changed in this step: the core looks at it
    Instant changed;     // the number of those that are busy
    Instant held_since;
    Instant used_until;
    Between<Duration> used;
    Side poor, rich;
    Activity sure, may;
    double taken = 0;
    double granted = 0;
  };
  struct Gpu {
    core::GpuPolicy policy;
    Between<Duration> period;
    Between<Duration> round;
    Between<int> working;
    std::vector<core::TenantId> capped;
  };
  struct Tenant {
    core::Share cap = core::kNoCap;
    std::vector<Seat> seats;
  };

  static double ns(Duration span) { return static_cast<double>(span.ns()); }
  static double part(core::Share cap) { return static_cast<double>(cap) / core::kWholeGpu; }
  static std::size_t place(core::TenantId id) { return static_cast<std::size_t>(id); }

  Seat& seat_at(core::TenantId tenant, core::GpuId gpu);
  const Seat* seat(core::TenantId tenant, core::GpuId gpu) const;
  void open_account(core::TenantId tenant, core::GpuId gpu);
  void close_account(core::TenantId tenant, core::GpuId gpu);
  void cut_savings(const Gpu& gpu, std::uint32_t index);
  void pass_time(Gpu& gpu, std::uint32_t index, double span);
  void note_activity(core::TenantId tenant, std::uint32_t gpu);
  void note_throttled(core::TenantId tenant, std::uint32_t gpu, bool ticked);
  static Between<double> quantum(core::Share cap, const Gpu& gpu);
  // What it may keep of what it saved while it slept, and while others had the GPU.
  static Between<double> thrift(core::Share cap, const Gpu& gpu);
  static Between<double> carry(core::Share cap, const Gpu& gpu);
  // The parts of the time that it is charged, if it works.
  Between<double> charge_rate(const Gpu& gpu, const Seat& seat) const;
  void charge(Seat& seat, double poor, double rich);

  Instant now_;
  int caps_ = 0;  // tenants that have one
  std::vector<Gpu> gpus_;
  std::vector<Tenant> tenants_;
  std::vector<core::TenantId> changed_;
};

}  // namespace nvs::sim
