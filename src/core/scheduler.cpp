// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler.h"

#include <algorithm>

#include "core/accounts.h"
#include "core/dispatch.h"
#include "core/drains.h"
#include "core/gangs.h"
#include "core/node.h"
#include "core/residency.h"
#include "core/settings.h"
#include "core/throttle.h"
#include "core/view_of.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

// One function for each event. Whoever is not known is ignored.
class Handler {
 public:
  explicit Handler(Node& node) : node_(node) {}

  void operator()(const GpuAdded& event) {
    if (index_of(event.gpu) != node_.gpus.size()) return;
    Gpu& gpu = node_.gpus.emplace_back();
    gpu.id = event.gpu;
    gpu.capacity_bytes = event.capacity_bytes;
    gpu.policy = within_limits(event.policy);
    gpu.accounted = node_.now;
  }

  void operator()(const ClientJoined& event) {
    node_.books.join(event.client, event.tenant, event.priority, weight_within(event.weight),
                     cap_within(event.cap));
  }
  void operator()(const ClientLeft& event) {
    if (Client* client = node_.books.client(event.client)) remove_client(node_, *client);
  }

  void operator()(const Wanted& event) {
    Gate* gate = need_gate(event.client, event.gpu);
    if (gate == nullptr || gate->wants) return;
    if (gate->state == GateState::open || gate->state == GateState::loose) {
      // It was said before the window opened: whoever stood at the gate is through by now.
      set_idle(event.client, event.gpu, gate->grant, false, {});
      return;
    }
    note_return(*gate->seat);
    node_.change(*gate, [](Gate& it) { it.wants = true; });
    admit(*gate);
  }

  void operator()(const WentIdle& event) {
    set_idle(event.client, event.gpu, event.grant, true, event.quiet);
  }
  void operator()(const WentBusy& event) {
    set_idle(event.client, event.gpu, event.grant, false, event.since);
  }

  void operator()(const Drained& event) {
    Gate* gate = heard_gate(event.client, event.gpu);
    if (gate != nullptr && on_drained(node_, *gate, event)) return;
    // What it says of an earlier window is out of date, but threads stand at its gate all the same.
    if (event.waiting) (*this)(Wanted{event.client, event.gpu});
  }
  void operator()(const StillDraining& event) {
    Gate* gate = heard_gate(event.client, event.gpu);
    if (gate != nullptr) on_still_draining(node_, *gate, event.grant, event.remaining);
  }
  void operator()(const DrainStalled& event) {
    if (Gate* gate = heard_gate(event.client, event.gpu)) on_stalled(node_, *gate, event.grant);
  }
  void operator()(const DrainRefused& event) {
    if (Gate* gate = heard_gate(event.client, event.gpu)) on_refused(node_, *gate, event.grant);
  }

  // A gate that is open already either becomes part of a window, or is the first to be closed: as
  // where it lacks memory, and was opened when nobody took any.
  void operator()(const FoundOpen& event) {
    Gate* gate = need_gate(event.client, event.gpu);
    if (gate == nullptr || gate->state != GateState::closed) return;
    Seat& seat = *gate->seat;
    Gpu& gpu = *seat.gpu;
    // Others may have run without a daemon too, and be here in a moment.
    gpu.presence.expect(node_.now);
    const bool is_in_the_way = gpu.open != nullptr && is_kept(*gpu.open);
    if (event.in_time && is_in_the_way) end_window_here(node_, *gpu.open);
    const bool free = !gpu.has_windows() || (gpu.holders.empty() && gpu.reserved == nullptr);
    const bool may_hold = free && !lacks_quota(seat);
    const bool complete = gate->memory.is_complete();
    if (seat.tenant->paused || seat.hold == Hold::closing || !complete ||
        (seat.hold == Hold::none && !may_hold)) {
      // After a restart all must be waited for. Later on it may be one that has lost its
      // connection, or one that says so again and again.
      close_stray(node_, *gate, event.in_time ? Stray::awaited : Stray::late);
      return;
    }
    node_.change(*gate, [](Gate& it) { it.wants = true; });
    if (seat.hold == Hold::open) {
      join_window(node_, *gate);
    } else {
      open_window(node_, seat);  // it has had its time: others may have the GPU at once
      settle(node_, seat);
    }
  }

  void operator()(const MemoryHeld& event) {
    Gate* gate = need_gate(event.client, event.gpu);
    if (gate == nullptr) return;
    on_memory_held(node_, *gate, event);
    if (event.is_faulted && gate->wants) stop_wanting(*gate);
  }
  void operator()(const CapacitySet& event) {
    if (Gpu* gpu = node_.gpu(event.gpu)) set_capacity(node_, *gpu, event.bytes);
  }

  void operator()(const PolicySet& event) {
    if (Gpu* gpu = node_.gpu(event.gpu)) set_policy(node_, *gpu, within_limits(event.policy));
  }
  void operator()(const PrioritySet& event) {
    if (Tenant* tenant = node_.books.tenant(event.tenant)) {
      set_priority(node_, *tenant, event.priority);
    }
  }
  void operator()(const WeightSet& event) {
    if (Tenant* tenant = node_.books.tenant(event.tenant)) {
      set_weight(node_, *tenant, weight_within(event.weight));
    }
  }
  void operator()(const CapSet& event) {
    if (Tenant* tenant = node_.books.tenant(event.tenant)) {
      set_cap(node_, *tenant, cap_within(event.cap), event.settles);
    }
  }
  void operator()(const CreditSet& event) {
    Tenant* tenant = node_.books.tenant(event.tenant);
    Gpu* gpu = node_.gpu(event.gpu);
    if (tenant != nullptr && gpu != nullptr) set_credit(node_, *tenant, *gpu, event.credit);
  }
  void operator()(const TenantPaused& event) {
    if (Tenant* tenant = node_.books.tenant(event.tenant)) pause(node_, *tenant);
  }
  void operator()(const TenantResumed& event) {
    if (Tenant* tenant = node_.books.tenant(event.tenant)) resume(node_, *tenant);
  }

  void operator()(const Tick&) {
    while (const auto due = node_.deadlines.take_due(node_.now)) {
      Gpu& gpu = *node_.gpu(due->gpu);
      if (due->of == Deadline::Of::gpu) {
        gpu.timer.reset();
        GpuMemory& memory = gpu.memory;
        if (memory.due && *memory.due <= node_.now) memory.dirty = memory.ticked = true;
        node_.touch(gpu);
      } else {
        Gate& gate = *Books::gate(*node_.books.client(due->client), due->gpu);
        gate.timer.reset();
        on_gate_due(node_, gate);
      }
    }
  }

 private:
  Client* heard(ClientId id) {
    Client* client = node_.books.client(id);
    if (client != nullptr) on_sign_of_life(node_, *client);
    return client;
  }
  Gate* heard_gate(ClientId id, GpuId gpu) {
    Client* client = heard(id);
    return client != nullptr ? Books::gate(*client, gpu) : nullptr;
  }
  Gate* need_gate(ClientId id, GpuId gpu_id) {
    Client* client = heard(id);
    Gpu* gpu = node_.gpu(gpu_id);
    if (client == nullptr || gpu == nullptr) return nullptr;
    gpu->account(node_.now);
    const std::uint32_t tenants = gpu->tenants;
    Gate& gate = Books::need_gate(*client, *gpu);
    if (gpu->tenants != tenants) touch_memory(node_, *gpu);
    if (gate.seat->tenant->cap != kNoCap) need_account(node_, *gate.seat);
    return &gate;
  }

  void admit(Gate& gate) {
    if (gate.seat->hold == Hold::open && gate.state == GateState::closed &&
        gate.memory.is_complete() && !lacks_memory(*gate.seat)) {
      join_window(node_, gate);
    } else {
      settle(node_, *gate.seat);
    }
  }

  // The gate of one whose contexts are lost is open for good: nobody stands at it any more.
  void stop_wanting(Gate& gate) {
    node_.change(gate, [](Gate& it) { it.wants = false; });
    settle(node_, *gate.seat);
    touch_gang(node_, *gate.seat);
  }

  // It has been so for `span` already.
  void set_idle(ClientId client, GpuId gpu, GrantId grant, bool idle, Duration span) {
    Gate* gate = heard_gate(client, gpu);
    if (gate == nullptr || gate->state == GateState::closed || gate->grant != grant) return;
    node_.change_since(*gate, span, [idle](Gate& it) { it.idle = idle; });
    note_rest(*gate->seat);
    settle(node_, *gate->seat);
    touch_gang(node_, *gate->seat);
  }

  // A burst ends with its work, although the window goes on: the next one may come in the same.
  // One of a gang waits for those on other GPUs, and keeps its place meanwhile.
  static void note_rest(Seat& seat) {
    if (seat.busy > 0 || seat.hold == Hold::none || seat.in_gang) return;
    seat.count_burst();
    seat.end_burst();
  }
  // It lost its window while it worked, and what it had submitted by then was all.
  void note_return(Seat& seat) const {
    const bool away = seat.hold == Hold::none && seat.wanting == 0;
    if (away && node_.now - seat.ended >= kBurstPause) seat.end_burst();
  }

  Node& node_;
};

}  // namespace

struct Scheduler::State {
  Node node;
};

Scheduler::Scheduler() : state_(std::make_unique<State>()) {}
Scheduler::~Scheduler() = default;

void Scheduler::step(Instant now, const Event& event, std::vector<Effect>& effects) {
  Node& node = state_->node;
  node.now = std::max(node.now, now);
  node.effects = &effects;
  std::visit(Handler{node}, event);
  dispatch_touched(node);
  node.effects = nullptr;
}

std::optional<Duration> Scheduler::credit(TenantId id, GpuId gpu, Instant now) const {
  Node& node = state_->node;
  const Tenant* tenant = node.books.tenant(id);
  if (tenant == nullptr || tenant->seats.size() <= index_of(gpu)) return std::nullopt;
  const Seat* seat = tenant->seats[index_of(gpu)].get();
  if (seat == nullptr || !seat->quota.account) return std::nullopt;
  return credit_of(*seat, std::max(node.now, now));
}

std::uint32_t Scheduler::tenants_on(GpuId id) const {
  const Gpu* gpu = state_->node.gpu(id);
  return gpu != nullptr ? gpu->tenants : 0;
}

std::optional<Instant> Scheduler::next_deadline() const { return state_->node.deadlines.next(); }

NodeView Scheduler::view(Instant now) const {
  return view_of(state_->node, std::max(state_->node.now, now));
}

}  // namespace nvs::core
