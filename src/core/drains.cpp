// SPDX-License-Identifier: Apache-2.0
#include "core/drains.h"

#include <algorithm>

#include "core/memory_books.h"
#include "core/readiness.h"
#include "core/residency.h"
#include "core/throttle.h"
#include "core/windows.h"

namespace nvs::core {
namespace {

bool is_asked(const Gate& gate) {
  return gate.state == GateState::closing || gate.state == GateState::late ||
         gate.state == GateState::silent;
}

void set_timer(Node& node, Gate& gate, std::optional<Instant> at) {
  node.deadlines.move(gate.timer, at, gate.seat->gpu->id, gate.client);
}

void set_state(Node& node, Gate& gate, GateState state) {
  node.change(gate, [state](Gate& it) { it.state = state; });
}

// It said something about its drain.
void note_heard(Node& node, Gate& gate) {
  gate.heard = node.now;
  Instant due = gate.heard + kSilenceMax;
  if (gate.state == GateState::closing) due = std::min(due, gate.told + kDrainMax);
  set_timer(node, gate, due);
}

void let_one_in(Node& node, Gate& gate) {
  gate.let_in_at = node.now;
  if (gate.state == GateState::closed) {
    node.change(gate, [&node](Gate& it) {
      it.grant = node.fresh_grant();
      it.let_in = true;
    });
  }
  node.emit(LetOneIn{gate.client, gate.seat->gpu->id, gate.grant});
}

// One for each gate at which somebody waits, out of those that `which` names. Were there any?
template <class Which>
bool let_in(Node& node, const Tenant& tenant, Which which) {
  bool any = false;
  for (const auto& seat : tenant.seats) {
    if (!seat) continue;
    for (Gate* gate : seat->gates) {
      if (!gate->wants || !which(*gate) || !gate->memory.is_complete()) continue;
      any = true;
      // Each client's word lets one in at all gates of the tenant, of which there may be a
      // thousand.
      const bool is_through = gate->state == GateState::closed && !gate->let_in;
      if (is_through || node.now - gate->let_in_at >= kLetInEvery) let_one_in(node, *gate);
    }
  }
  return any;
}

bool is_stalled(const Tenant& tenant) {
  return std::any_of(tenant.seats.begin(), tenant.seats.end(),
                     [](const auto& seat) { return seat && seat->stalled > 0; });
}

void ask_again(Node& node, Gate& gate) {
  Seat& seat = *gate.seat;
  if (seat.quota.account) note_quota(node, seat);
  const bool others = seat.gpu->present > (seat.present ? 1U : 0U);
  if (!others && !seat.tenant->paused && !seat.quota.throttled &&
      !is_memory_awaited(*seat.gpu, seat)) {
    set_timer(node, gate, node.now + gate.retry);
    return;
  }
  ask_to_close(node, gate);
}

}  // namespace

void begin_drain(Node& node, Gate& gate) {
  set_state(node, gate, GateState::closing);
  gate.told = node.now;
  gate.next_told = false;
  note_heard(node, gate);
  node.emit(CloseWindow{gate.client, gate.seat->gpu->id, gate.grant});
}

void ask_to_close(Node& node, Gate& gate) {
  set_state(node, gate, GateState::late);
  node.emit(CloseWindow{gate.client, gate.seat->gpu->id, gate.grant});
  note_heard(node, gate);
}

// Asked or not: an idle client gives its window up while somebody waits. The others of its tenant
// go on, and a gang keeps its GPUs for as long as it works on one of them.
bool on_drained(Node& node, Gate& gate, const Drained& event) {
  if (gate.grant != event.grant) return false;
  const bool waiting = event.waiting;
  if (gate.state == GateState::closed) {
    // What somebody brought who was let in is done. Whoever could not drain may need more of it.
    const bool let_in = std::exchange(gate.let_in, false);
    if (let_in && waiting && gate.memory.is_complete() && is_stalled(*gate.seat->tenant)) {
      let_one_in(node, gate);
    }
    if (let_in && !waiting) {
      node.change(gate, [](Gate& it) { it.wants = false; });
      settle(node, *gate.seat);
    }
    // It may have waited for this to move out.
    if (let_in && gate.seat->memory.outside) touch_memory(node, *gate.seat->gpu);
    return false;
  }
  node.change_since(gate, event.quiet, [waiting](Gate& it) {
    it.state = GateState::closed;
    it.wants = it.wants || waiting;
    it.idle = false;
    it.stalled = false;
    it.refused = false;
    it.retry = kRefusalRetry;
  });
  set_timer(node, gate, std::nullopt);
  Seat& seat = *gate.seat;
  // It may have given its window up for want of memory on another GPU.
  if (seat.hold == Hold::open && gate.wants && gate.memory.is_complete() && !lacks_memory(seat)) {
    join_window(node, gate);
  } else {
    settle(node, seat);
  }
  return true;
}

void on_still_draining(Node& node, Gate& gate, GrantId grant, Duration remaining) {
  if (!is_asked(gate) || gate.grant != grant) return;
  note_heard(node, gate);
  if (remaining <= Duration{} || gate.state != GateState::closing) return;
  // Once is enough, and whoever is told stays awake for it.
  if (!std::exchange(gate.next_told, true)) tell_next(node, gate, remaining);
}

void on_stalled(Node& node, Gate& gate, GrantId grant) {
  if (gate.grant != grant) return;
  if (gate.let_in) {
    // It was let in, and the drain that stalled was done by then: now it is ahead of the others.
    let_in(node, *gate.seat->tenant,
           [](const Gate& it) { return it.state == GateState::closed && !it.let_in; });
  }
  if (!is_asked(gate)) return;
  note_heard(node, gate);
  node.change(gate, [](Gate& it) { it.stalled = true; });
  // One that drains itself is ahead of those that have drained. If both were let in, it would stay
  // so for ever; but where nobody else waits, its work may depend on its own next.
  if (!let_in(node, *gate.seat->tenant, [](const Gate& it) { return !is_asked(it); })) {
    let_in(node, *gate.seat->tenant, is_asked);
  }
}

// One that had drained and was let in drains again, and may be unable to as well: what it brought
// waits for others.
void on_refused(Node& node, Gate& gate, GrantId grant) {
  if ((!is_asked(gate) && !gate.let_in) || gate.grant != grant) return;
  node.change(gate, [](Gate& it) {
    if (it.refused) it.retry = std::min(it.retry * 2, kRefusalRetryMax);
    it.refused = true;
    it.stalled = false;
    it.let_in = false;
    it.state = GateState::loose;
    it.wants = false;  // its gate is open: nobody stands at it
    it.idle = false;   // whatever it said before, it has work
  });
  set_timer(node, gate, node.now + gate.retry);
  settle(node, *gate.seat);
}

void on_gate_due(Node& node, Gate& gate) {
  if (gate.state == GateState::loose) {
    ask_again(node, gate);
  } else if (node.now < gate.heard + kSilenceMax) {  // it is alive, but has had time enough
    set_state(node, gate, GateState::late);
    note_heard(node, gate);
  } else {
    set_state(node, gate, GateState::silent);
    ++node.books.client(gate.client)->silent;
  }
  settle(node, *gate.seat);
}

void on_sign_of_life(Node& node, Client& client) {
  if (client.silent == 0) return;
  for (const auto& gate : client.gates) {
    if (!gate || gate->state != GateState::silent) continue;
    set_state(node, *gate, GateState::late);
    note_heard(node, *gate);
    settle(node, *gate->seat);
  }
  client.silent = 0;
}

}  // namespace nvs::core
