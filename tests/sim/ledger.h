// SPDX-License-Identifier: Apache-2.0
// What the events and effects of a run say about clients, windows and waits, kept apart from the
// core's own books. Checkers judge the core by this, so it is told everything and decides nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/instant.h"
#include "core/effect.h"
#include "core/event.h"
#include "ledger_quota.h"

namespace nvs::sim {

// A client's memory on one GPU: what it told, and what it was told.
struct SlotMemory {
  bool told = false;
  std::uint64_t resident = 0;
  std::uint64_t away = 0;
  std::uint64_t fixed = 0;
  std::uint64_t asked = 0;
  Instant heard;
  Instant sent;          // the latest allowance
  bool stalled = false;  // it did not obey in time, and has not answered what it was told since
  bool stays = false;    // nothing of it can leave, as it says
  // Since the one that it named last, that one included: number and bytes.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> allowances;

  std::uint64_t base() const { return resident + away; }
  std::uint64_t need() const { return base() + asked; }
  std::uint64_t allowed() const { return allowances.empty() ? 0 : allowances.back().second; }
  bool lacks_answer() const { return allowances.size() > 1; }
  std::uint64_t committed() const;
  // Something is away, or may be on its way out.
  bool is_swapped() const;
  // It has to move memory, or to answer, and was given time enough.
  bool is_late(Instant now) const;
};

// A client's window on one GPU.
struct Slot {
  enum class Gate : std::uint8_t { closed, open, closing };
  Gate gate = Gate::closed;
  bool wants = false;
  bool idle = false;
  bool found = false;    // open since before the daemon started
  bool late = false;     // and that was said long after it had
  bool adopted = false;  // the window that it was found with got a grant
  bool loose = false;    // refused a drain
  bool stalled = false;  // its drain gets nowhere
  bool let_in = false;   // closed, and somebody was let in; what came of it is not known yet
  // Was silent too long after CloseWindow, or found open late, and has not drained since.
  bool given_up = false;
  core::GrantId grant{};
  core::WindowTerms terms;
  Instant closing_since;
  Instant heard;  // last sign of life while closing
  SlotMemory memory;
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
  Duration excused_until_then;         // Ledger::excused() at that time
  Instant held_before;                 // and its beginning
  Between<Duration> held_used;         // what it had used by then
  Instant turn_since;                  // the same, or an earlier one that it gave up for a moment
  Between<Duration> turn_used;         // what it had used by then
  bool turn_owed = false;              // it may have been owed to its class
  bool turn_adopted = false;           // it was found with the window that its turn began with
  std::uint64_t change = 0;            // of the GPU's, when it last lost its window
  bool gave_up = false;                // its last window, unasked
  bool holder_left = false;            // with its last window, and maybe nobody to come back to it
  Instant idle_since;                  // all its open clients are, if `idle`
  bool idle = false;
  bool swapped = false;  // something of it is away, or may be
  bool wants = false;    // stands at its gate and holds nothing
  bool stands = false;   // and may be in line: whether or not it lacks memory, if not throttled
  std::optional<Instant> lacks_since;  // wants, or asks for memory, and waits for memory
  bool about = false;                  // holds, wants or asks for something, or runs beside
  std::optional<Instant> gone_since;   // it is not any more
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
  Instant last_change;           // when anything last began or stopped to hold it
  std::optional<Instant> found;  // when somebody last was found open
  std::uint64_t changes = 0;     // how often: a clock that stands still has several at one time
  std::array<Duration, core::kPriorities> owed;  // to each class at most; in serial mode
  std::uint64_t capacity = 0;
  std::optional<Instant> shortage;     // when the driver last had less than it should
  std::vector<core::ClientId> memory;  // that told about theirs
  std::uint64_t needed = 0;            // by all of them, with what cannot be moved
  Between<Duration> period;            // in which caps hold
  Between<Duration> round;             // for which one may wait until it is its turn
  bool fits() const { return needed <= capacity; }
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
  Between<Duration> used(core::TenantId id, core::GpuId gpu) const { return quota_.used(id, gpu); }
  const LedgerQuota& quota() const { return quota_; }
  bool holds(core::TenantId id, core::GpuId gpu) const { return !!standing(id, gpu).held_since; }
  // In serial mode it has had no work for a moment, in its window or since it gave that up: others
  // may have to wait for it. Not those of a higher class, unless its turn was owed to its own.
  bool may_rest(core::TenantId id, core::GpuId gpu) const;
  // The same for sure, as far as it depends on how long it has rested and what it has used.
  bool has_use_for_turn(core::TenantId id, core::GpuId gpu) const;
  // More than one GPU that it wants, holds, or held not long ago; or where it left work behind.
  bool may_be_gang(core::TenantId id) const;
  // Of those so far, and of those under way that are waited for.
  Duration slowest_drain(core::GpuId gpu) const;
  // It is at a gate somewhere. Whether it waits there or lacks memory first, the core may know
  // better.
  bool stands(core::TenantId id) const;
  bool gang_stands() const;
  // What clients have or may take without asking, and what cannot be moved.
  std::uint64_t committed(core::GpuId gpu) const;
  // Somebody of others than this tenant waits for memory.
  bool lacks_memory(core::GpuId gpu, core::TenantId but) const;
  // It has memory and may need several GPUs: what it lacks on one keeps it off the others.
  bool may_lack_memory(core::TenantId id) const;
  // The driver had less than it should, and the core may not have tried again.
  bool is_short(core::GpuId gpu) const;
  // It would fit if all that can be moved of the others were out.
  bool can_fit(core::GpuId gpu, core::TenantId tenant) const;
  // One of its clients there does not drain or answer.
  bool is_hampered(core::GpuId gpu) const;
  bool knows(core::GpuId gpu) const { return core::index_of(gpu) < gpus_.size(); }

 private:
  template <class T>
  Slot* slot_of(const T& item);
  template <class T>
  Slot* current(const T& item);
  bool is_silent(const Slot& slot) const;
  LedgerTenant& tenant_at(core::TenantId id);
  void refresh(core::TenantId id, core::GpuId gpu);
  void refresh_one(core::TenantId id, core::GpuId gpu);
  void refresh_all(core::TenantId id);
  // Whether it has any memory at all.
  bool note_swapped(core::TenantId id);
  void add_up(core::GpuId gpu);
  // What classes were owed while so much time passed.
  void note_owed(Duration span);
  // Its turn may be another one by now, or have begun with a change of the mode: the window that it
  // was found with is over at once.
  bool may_be_renewed(core::TenantId id, core::GpuId gpu) const;
  // It has come back to a turn that it gave up for a moment.
  bool has_rested(core::TenantId id, core::GpuId gpu) const;
  void begin_turn(core::TenantId id, core::GpuId gpu);
  bool lacks_elsewhere(const LedgerTenant& tenant) const;
  void leave(core::ClientId id);
  template <class Event>
  void set_idle(const Event& event, bool idle, Duration since);
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
  void on(const core::MemoryHeld& event);
  void on(const core::CapacitySet& event);
  void on(const core::PolicySet& event);
  void on(const core::PrioritySet& event);
  void on(const core::WeightSet& event);
  void on(const core::CapSet& event);
  void on(const core::CreditSet& event);
  void on(const core::TenantPaused& event);
  void on(const core::TenantResumed& event);
  void on(const core::Tick&) {}
  void on(const core::OpenWindow& effect);
  void on(const core::ChangeTerms& effect);
  void on(const core::CloseWindow& effect);
  void on(const core::LetOneIn& effect);
  void on(const core::GetReady&) {}
  void on(const core::SetAllowance& effect);

  // Whoever is throttled, or is not any more, is in another place.
  void place_throttled();
  enum class Moment : std::uint8_t { before, after };
  void note_periods(Moment moment);
  void look_at_periods(Moment moment);
  Between<Duration> period(core::GpuId id) const;
  Between<Duration> round(core::GpuId id) const;
  void note_quota(core::TenantId id, core::GpuId gpu);

  LedgerQuota quota_;
  Instant now_;
  Duration excused_;
  Duration longest_excuse_;
  std::vector<LedgerGpu> gpus_;
  std::vector<LedgerTenant> tenants_;  // by id
  std::vector<LedgerClient> clients_;  // by id
};

}  // namespace nvs::sim
