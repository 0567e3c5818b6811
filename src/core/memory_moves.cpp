// SPDX-License-Identifier: Apache-2.0
#include "core/memory_moves.h"

#include <algorithm>

#include "core/memory_books.h"
#include "core/memory_plan.h"
#include "core/residency.h"

namespace nvs::core {
namespace {

// A client, and where its allowance is to go.
struct Target {
  Gate* gate = nullptr;
  std::uint64_t need = 0;   // of what it gets without slack
  std::uint64_t bytes = 0;  // with slack
  bool in = false;
};

// Bases in order, and what is asked for behind them: those whose turn it is keep what they have,
// whoever of them asks for more.
std::vector<Place> places_of(const Gpu& gpu, const std::vector<Seat*>& order, Occasion occasion,
                             Instant now) {
  std::vector<MemoryClaim> claims;
  std::vector<std::size_t> base_at(order.size());
  std::vector<std::size_t> ask_at(order.size());
  std::size_t first = 0;
  while (first < order.size() && has_turn_in_memory(*order[first], occasion, now)) ++first;
  const auto claim_base = [&](std::size_t i) {
    base_at[i] = claims.size();
    const SeatMemory& memory = order[i]->memory;
    claims.push_back({memory.base + (i < first ? memory.promised : 0), false});
  };
  const auto claim_ask = [&](std::size_t i) {
    ask_at[i] = claims.size();
    const SeatMemory& memory = order[i]->memory;
    claims.push_back({memory.asked + (i < first ? 0 : memory.promised), true});
  };
  for (std::size_t i = 0; i < first; ++i) claim_base(i);
  for (std::size_t i = 0; i < first; ++i) claim_ask(i);
  for (std::size_t i = first; i < order.size(); ++i) {
    claim_base(i);
    claim_ask(i);
  }
  const std::vector<MemoryShare> shares = divide(movable_bytes(gpu), claims);
  std::vector<Place> places;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const MemoryShare& base = shares[base_at[i]];
    const bool in = base.bytes >= order[i]->memory.base;
    const bool grants = shares[ask_at[i]].complete;
    places.push_back({order[i], base.bytes, in, grants, i < first ? base.complete : grants});
  }
  return places;
}

// Of a seat that cannot have all, each client keeps what it has as far as that goes.
void split(const Place& place, std::vector<Target>& targets, std::size_t from) {
  std::uint64_t left = place.bytes;
  for (std::size_t i = from; i < targets.size(); ++i) {
    if (stays_put(*targets[i].gate)) continue;
    targets[i].bytes = std::min(left, targets[i].gate->memory.resident);
    left -= targets[i].bytes;
  }
  for (std::size_t i = from; i < targets.size(); ++i) {
    const GateMemory& memory = targets[i].gate->memory;
    if (stays_put(*targets[i].gate)) continue;
    const std::uint64_t all = memory.starves_until ? memory.resident : memory.base();
    const std::uint64_t more = std::min(left, all - targets[i].bytes);
    targets[i].need = targets[i].bytes += more;
    left -= more;
  }
}

void add_targets(const Place& place, std::uint64_t slack, std::vector<Target>& targets) {
  const std::size_t from = targets.size();
  for (Gate* gate : place.seat->gates) {
    const GateMemory& memory = gate->memory;
    if (!memory.told) continue;
    const bool asks = is_promised(memory) ? place.keeps_promise
                                          : place.grants_ask && place.seat->memory.asked > 0;
    const bool stays = stays_put(*gate) || memory.starves_until;
    std::uint64_t need = asks ? memory.need() : memory.base();
    if (memory.starves_until) need = memory.resident;
    if (memory.stuck) {
      // Nobody needs what it did not give back any more, if all fit.
      const bool keeps = !place.seat->gpu->memory.tight;
      need = std::max(memory.allowances.bytes(), keeps ? memory.resident : 0);
    }
    targets.push_back({gate, need, need + (stays ? 0 : slack), place.in});
  }
  if (!place.in) split(place, targets, from);
}

// Closed and drained; on the tenant's other GPUs too, or what drains there may wait for work here.
bool can_move_out(const Gate& gate) {
  if (gate.state != GateState::closed || gate.let_in || gate.seat->hold != Hold::none) return false;
  const auto& seats = gate.seat->tenant->seats;
  return std::none_of(seats.begin(), seats.end(),
                      [](const auto& seat) { return seat && seat->hold == Hold::closing; });
}

class Carrier {
 public:
  Carrier(Node& node, Gpu& gpu, std::vector<Target> targets)
      : node_(node), gpu_(gpu), targets_(std::move(targets)), shared_(gpu.tenants > 1) {
    const std::uint64_t usable = usable_bytes(gpu);
    const std::uint64_t committed = committed_bytes(gpu);
    room_ = usable - std::min(usable, committed);
    overdrawn_ = committed > usable;
  }

  void run() {
    const bool lack = lacks_room();
    for (const Target& target : targets_) lower(target, lack);
    const bool arrives = std::any_of(targets_.begin(), targets_.end(), is_arriving);
    for (Target& target : targets_) {
      if (arrives && !target.in) hold_back(target);
    }
    for (const Target& target : targets_) owed_ += missing(target);
    for (const Target& target : targets_) raise(target);
    for (const Target& target : targets_) tell_rest(target);
  }

 private:
  static std::uint64_t missing(const Target& target) {
    return target.need - std::min(target.need, target.gate->memory.committed());
  }

  // What somebody needs to run comes over the same bus as what others will need later. Who does not
  // get on is not waited for.
  static bool is_arriving(const Target& target) {
    const GateMemory& memory = target.gate->memory;
    return target.in && memory.away > 0 && !stays_put(*target.gate) && !memory.starves_until;
  }

  static void hold_back(Target& target) {
    target.need = std::min(target.need, target.gate->memory.resident);
    target.bytes = std::min(target.bytes, target.need);
  }

  // Is there less room than those need that are to be complete? To prefetch, a chunk is worth it.
  bool lacks_room() const {
    std::uint64_t needed = 0;
    for (const Target& target : targets_) {
      const std::uint64_t more = missing(target);
      if (target.in || more >= kMemoryStep) needed += more;
    }
    return needed > room_;
  }

  void send(Gate& gate, std::uint64_t bytes) {
    const std::uint64_t number = gate.memory.allowances.send(bytes);
    gate.memory.begin_to_move(node_.now);
    gate.memory.shared = shared_;
    node_.emit(SetAllowance{gate.client, gpu_.id, number, bytes, shared_});
  }

  // It gives its slack back; and what it has only if it must go and has drained.
  void lower(const Target& target, bool lack) {
    Gate& gate = *target.gate;
    GateMemory& memory = gate.memory;
    if (memory.stuck || !memory.allowances.any()) return;
    const bool moves = !target.in && can_move_out(gate);
    const std::uint64_t kept = memory.starves_until ? memory.resident : memory.base();
    const std::uint64_t to = moves ? target.bytes : std::max(target.bytes, kept);
    const std::uint64_t allowed = memory.allowances.bytes();
    if (to >= allowed) return;
    const bool has_to_go = moves && to < memory.resident;
    // What nobody needs it may still try to get.
    const bool much = gpu_.memory.tight && !memory.starves_until && allowed - to >= kMemoryStep;
    if (lack || has_to_go || much) send(gate, to);
  }

  // In the order of service: what is kept back for one is not given to the next, and slack only of
  // what nobody needs.
  void raise(const Target& target) {
    Gate& gate = *target.gate;
    const GateMemory& memory = gate.memory;
    const std::uint64_t committed = memory.committed();
    const std::uint64_t allowed = memory.allowances.any() ? memory.allowances.bytes() : 0;
    owed_ -= missing(target);
    const std::uint64_t spare = room_ - std::min(room_, owed_);
    // Where more than there is was promised nobody may get more than it may have already, for
    // certain.
    const std::uint64_t had =
        overdrawn_ ? std::max(memory.resident, memory.allowances.most_for_certain()) : committed;
    std::uint64_t to = std::min(target.need, had + room_);
    if (to == target.need) to = std::max(to, std::min(target.bytes, committed + spare));
    const std::uint64_t kept = to - std::min(to, committed);
    // A part of what it asks for is of no use to it.
    if (to < target.need) to = std::min(to, std::max(memory.base(), allowed));
    if (!memory.allowances.any() && !can_move_out(gate)) to = std::max(to, memory.resident);
    const bool sends =
        to > allowed && (!memory.allowances.any() || is_worth_it(target, allowed, to));
    if (sends || allowed < target.need) room_ -= std::min(room_, kept);
    if (sends) send(gate, to);
  }

  static bool is_worth_it(const Target& target, std::uint64_t allowed, std::uint64_t to) {
    if (allowed >= target.need) {
      // More slack: not before half of what it could have is used up.
      return to - allowed >= kMemoryStep && allowed - target.need < (to - target.need) / 2;
    }
    const bool is_last_bit = target.in && to >= target.need;
    return is_last_bit || to - allowed >= kMemoryStep;
  }

  // A first word, which bounds it, and whether it is alone.
  void tell_rest(const Target& target) {
    GateMemory& memory = target.gate->memory;
    if (memory.allowances.any() && memory.shared == shared_) return;
    const std::uint64_t held = std::max(memory.resident, memory.allowances.bytes());
    send(*target.gate, memory.allowances.any() ? memory.allowances.bytes() : held);
  }

  Node& node_;
  Gpu& gpu_;
  std::vector<Target> targets_;
  bool shared_;
  std::uint64_t room_ = 0;
  bool overdrawn_ = false;  // more than there is was promised, before there was less
  std::uint64_t owed_ = 0;  // to those that come behind
};

}  // namespace

Division divide_memory(const Gpu& gpu, Occasion occasion, Instant now) {
  Division division;
  division.places = places_of(gpu, order_of_memory(gpu, occasion, now), occasion, now);
  if (gpu.memory.tight) return division;
  std::uint64_t free = movable_bytes(gpu);
  std::uint64_t clients = 0;
  for (const Place& place : division.places) {
    const SeatMemory& memory = place.seat->memory;
    free -= memory.base + memory.promised + memory.asked;
    for (const Gate* gate : place.seat->gates) clients += gate->memory.told ? 1 : 0;
  }
  division.slack = slack_of(free, clients, gpu.tenants > 1 ? Company::shared : Company::alone);
  return division;
}

bool leaves_out(const Division& division) {
  return std::any_of(division.places.begin(), division.places.end(), [](const Place& place) {
    const SeatMemory& memory = place.seat->memory;
    if (!memory.waits || memory.impossible || memory.stuck) return false;
    return !place.in || !place.grants_ask;
  });
}

bool is_standstill(const Division& division) {
  bool asks_in_vain = false;
  for (const Place& place : division.places) {
    const Seat& seat = *place.seat;
    if (!place.in || seat.memory.stuck || seat.tenant->paused) continue;
    if (seat.wanting > 0 || seat.busy > 0 || is_worked_on(seat)) return false;
    if (seat.memory.promised > 0 && place.keeps_promise) return false;
    if (seat.memory.asked == 0) continue;
    if (place.grants_ask) return false;
    asks_in_vain = true;
  }
  return asks_in_vain;
}

Changes settle_places(const Division& division, Instant now) {
  Changes changes;
  for (const Place& place : division.places) {
    SeatMemory& memory = place.seat->memory;
    const bool comes = place.in && !memory.in;
    const bool is_granted = place.in && place.grants_ask && !memory.grants_ask;
    if (memory.waits && (comes || is_granted)) changes.came_in.push_back(place.seat);
    if (memory.in && !place.in && is_lively(*place.seat, now)) changes.sent_out = true;
    if (comes) memory.in_since = now;
    memory.in = place.in;
    memory.grants_ask = place.grants_ask;
  }
  return changes;
}

void carry_out(Node& node, Gpu& gpu, const Division& division) {
  std::vector<Target> targets;
  for (const Place& place : division.places) add_targets(place, division.slack, targets);
  Carrier(node, gpu, std::move(targets)).run();
}

}  // namespace nvs::core
