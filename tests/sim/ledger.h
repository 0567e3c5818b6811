// SPDX-License-Identifier: Apache-2.0
// What the events and effects of a run say about clients, windows and waits, kept apart from the
// core's own books. Checkers judge the core by this, so it is told everything and decides nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "core/effect.h"
#include "core/event.h"

namespace nvs::sim {

// A client's window on one GPU.
struct Slot {
  enum class Gate : std::uint8_t { closed, open, closing };
  Gate gate = Gate::closed;
  bool wants = false;
  bool idle = false;
  bool found = false;     // open since before the daemon started
  bool adopted = false;   // the window that it was found with got a grant
  bool loose = false;     // refused a drain
  bool stalled = false;   // its drain gets nowhere
  bool let_in = false;    // closed, and somebody was let in; what came of it is not known yet
  bool given_up = false;  // was silent too long after CloseWindow, and has not drained since
  core::GrantId grant{};
  core::WindowTerms terms;
  Instant closing_since;
  Instant heard;  // last sign of life while closing
};

struct LedgerClient {
  bool here = false;
  core::TenantId tenant{};
  std::vector<Slot> slots;  // by GPU
};

// A tenant on one GPU.
struct Standing {
  std::optional<Instant> waits_since;  // wants, holds nothing there, is not paused
  Duration longest_wait;               // that is over
  std::optional<Instant> held_since;   // a window that is open or closing, and not loose
  std::optional<Instant> held_last;    // end of its last window
  Instant held_before;                 // and its beginning
  Instant idle_since;                  // all its open clients are, if `idle`
  bool idle = false;
  Duration used;        // held and not idle
  bool beside = false;  // it ever ran there without holding it: loose, or given up
};

struct LedgerTenant {
  bool here = false;
  bool paused = false;
  core::Priority priority = core::Priority::normal;
  std::uint32_t weight = 100;
  std::vector<core::ClientId> clients;
  std::vector<Standing> on;  // by GPU
};

struct LedgerGpu {
  core::GpuPolicy policy;
  Instant policy_since;
  std::vector<core::TenantId> waiting;
  std::vector<core::ClientId> open;  // open or closing
  Duration longest_drain;
  Instant last_change;  // when anything last began or stopped to hold it
};

class Ledger {
 public:
  void apply(Instant now, const core::Event& event);
  void apply(Instant now, const core::Effect& effect);
  // The clock jumped or the daemon slept: whatever takes its time may take so much longer.
  void excuse(Duration span) {
    excused_ += span;
    longest_excuse_ = std::max(longest_excuse_, span);
  }

  Instant now() const { return now_; }
  Duration excused() const { return excused_; }
  Duration longest_excuse() const { return longest_excuse_; }
  const std::vector<LedgerGpu>& gpus() const { return gpus_; }
  const std::vector<LedgerTenant>& tenants() const { return tenants_; }
  const LedgerGpu& gpu(core::GpuId id) const { return gpus_[core::index_of(id)]; }
  const LedgerTenant& tenant(core::TenantId id) const;
  const Standing& standing(core::TenantId id, core::GpuId gpu) const;
  // Nothing if the client never joined; one that left has `here` false.
  const LedgerClient* client(core::ClientId id) const;
  const Slot* slot(core::ClientId id, core::GpuId gpu) const;

  // Its gate counts: open or closing, and neither loose nor given up.
  bool holds(const Slot& slot) const;
  // With the window that it has now.
  Duration used(core::TenantId id, core::GpuId gpu) const;
  bool holds(core::TenantId id, core::GpuId gpu) const { return !!standing(id, gpu).held_since; }
  // More than one GPU that it wants, holds, or held not long ago; or where it left work behind.
  bool may_be_gang(core::TenantId id) const;
  bool knows(core::GpuId gpu) const { return core::index_of(gpu) < gpus_.size(); }

 private:
  template <class T>
  Slot* slot_of(const T& item);
  template <class T>
  Slot* current(const T& item);
  bool is_silent(const Slot& slot) const;
  LedgerTenant& tenant_at(core::TenantId id);
  void refresh(core::TenantId id, core::GpuId gpu);
  void refresh_all(core::TenantId id);
  void leave(core::ClientId id);
  void finish_drain(Slot& slot, core::GpuId gpu);
  void hear(Slot& slot) { slot.heard = now_; }
  void give_up_silent();

  void on(const core::GpuAdded& event);
  void on(const core::ClientJoined& event);
  void on(const core::ClientLeft& event) { leave(event.client); }
  void on(const core::Wanted& event);
  void on(const core::WentIdle& event);
  void on(const core::WentBusy& event);
  void on(const core::Drained& event);
  void on(const core::StillDraining& event);
  void on(const core::DrainStalled& event);
  void on(const core::DrainRefused& event);
  void on(const core::FoundOpen& event);
  void on(const core::MemoryHeld&) {}
  void on(const core::CapacitySet&) {}
  void on(const core::PolicySet& event);
  void on(const core::PrioritySet& event);
  void on(const core::WeightSet& event);
  void on(const core::TenantPaused& event);
  void on(const core::TenantResumed& event);
  void on(const core::Tick&) {}
  void on(const core::OpenWindow& effect);
  void on(const core::ChangeTerms& effect);
  void on(const core::CloseWindow& effect);
  void on(const core::LetOneIn& effect);
  void on(const core::GetReady&) {}
  void on(const core::SetAllowance&) {}

  Instant now_;
  Duration excused_;
  Duration longest_excuse_;
  std::vector<LedgerGpu> gpus_;
  std::vector<LedgerTenant> tenants_;  // by id
  std::vector<LedgerClient> clients_;  // by id
};

}  // namespace nvs::sim
