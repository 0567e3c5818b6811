// SPDX-License-Identifier: Apache-2.0
// The schedule of one GPU: who holds it, who waits for it, what it owes to whom, and its totals.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "core/class_floors.h"
#include "core/gpu_memory.h"
#include "core/gpu_quota.h"
#include "core/ids.h"
#include "core/policy.h"
#include "core/presence.h"
#include "core/seat.h"
#include "core/waiting_line.h"

namespace nvs::core {

struct Gpu {
  GpuId id{};
  std::uint64_t capacity_bytes = 0;
  GpuPolicy policy;

  std::vector<Seat*>
      holders;               // with a window, open or closing; where there are windows, mostly one
  Seat* open = nullptr;      // the one that is not closing; always nobody in concurrent mode
  Seat* waker = nullptr;     // began to wait in this step, and may take the GPU in mid-window
  Seat* promised = nullptr;  // for whom the latest window was ended
  Tenant* reserved = nullptr;  // the gang it is kept for
  WaitingLine line;
  ClassFloors floors;
  std::array<std::uint32_t, kPriorities> holding{};  // holders by class
  Presence presence;
  Presence sleepers_gone;      // those of them that were not steady
  std::uint32_t present = 0;   // tenants that hold, wait or run beside
  std::uint32_t sleepers = 0;  // of them, those that are not steady

  Instant accounted;  // until when totals and floors are right
  std::optional<TenantId> last_held;
  std::uint64_t switches = 0;
  Duration held;
  Duration handover;
  Duration swap_idle;  // nobody ran, and somebody waited for memory

  std::uint32_t tenants = 0;  // with a gate on it
  GpuMemory memory;
  GpuQuota quota;

  std::optional<Instant> timer;  // as it stands in Deadlines
  std::optional<Instant>
      try_again;  // when a gang that could not start, or one put off, may be able
  bool touched = false;

  bool has_windows() const { return policy.mode != Mode::concurrent; }
  // Brings totals and floors up to `now`; to be called before holders or line change.
  void account(Instant now);
  // The totals as they are at `now`, which is not before the last account().
  Duration held_at(Instant now) const;
  Duration handover_at(Instant now) const;
  Duration swap_idle_at(Instant now) const;
  Duration shared_at(Instant now) const;
  // May several run at a time, each of which has its part of it?
  bool is_shared() const { return !has_windows() && quota.working > 0; }
  // It waits, and is heard at the end of the step: may it take the GPU in mid-window?
  void wake(Seat& seat);
  // After the counts of a seat have changed: how many have work, and whose accounts are charged.
  void note_work(Seat& seat);
  // The least service among those of a class that hold it or wait for it alone; it never falls.
  Service floor_of(Priority priority);

 private:
  std::array<Service, kPriorities> service_floor_{};
};

}  // namespace nvs::core
