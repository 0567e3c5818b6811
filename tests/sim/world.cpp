// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <utility>

namespace nvs::sim {
namespace {

// How long after a member of a group died the others notice and end, at most.
constexpr Duration kPeersNotice = Duration::from_ms(300);

std::vector<TenantSettings> settings_of(const Plan& plan) {
  std::vector<TenantSettings> all;
  for (const TenantPlan& tenant : plan.tenants) {
    all.push_back({tenant.priority, tenant.weight, false, tenant.cap});
  }
  return all;
}

bool has_collective(const TenantPlan& tenant) {
  for (const ProcessPlan& process : tenant.processes) {
    for (const Load& load : process.loads) {
      if (load.kind == Load::Kind::collective) return true;
    }
  }
  return false;
}

}  // namespace

World::World(Plan plan, std::uint64_t seed, Trace& trace)
    : plan_(std::move(plan)),
      random_(seed),
      trace_(trace),
      meter_(plan_.gpus.size(), plan_.tenants.size()),
      daemon_(time_, trace, meter_, plan_.gpus, settings_of(plan_),
              RunTraits{plan_.quiet, plan_.capacity, plan_.bus_rate, plan_.capped},
              [this](std::uint32_t process, const core::Effect& effect) {
                send_to_process(process, effect);
              }) {
  for (std::size_t gpu = 0; gpu < plan_.gpus.size(); ++gpu) {
    gpus_.push_back(std::make_unique<SimGpu>(time_));
    cards_.push_back(std::make_unique<SimCard>(time_, plan_.capacity, plan_.bus_rate));
  }
  for (const CollectivePlan& one : plan_.collectives) {
    collectives_.push_back(std::make_unique<Collective>(time_, one));
  }
  add_processes();
}

void World::add_processes() {
  for (std::uint32_t tenant = 0; tenant < plan_.tenants.size(); ++tenant) {
    for (const ProcessPlan& process : plan_.tenants[tenant].processes) {
      const auto number = static_cast<std::uint32_t>(inhabitants_.size());
      inhabitants_.push_back({});
      inhabitants_.back().tenant = tenant;
      for (const Load& load : process.loads) has_memory_ = has_memory_ || load.memory.bytes > 0;
      inhabitants_.back().process = std::make_unique<SimProcess>(
          Surroundings{time_, random_, gpus_, cards_, collectives_}, process,
          [this, number](Message message) { send_to_daemon(number, message); },
          [this, number] {
            if (daemon_.is_up()) inhabitants_[number].connection = ++connections_;
            return daemon_.is_up();
          });
      time_.after(process.start, [this, number] { inhabitants_[number].process->start(); });
    }
  }
}

void World::run_until(Duration length) {
  if (!std::exchange(begun_, true)) {
    daemon_.start();
    plan_happenings();
  }
  const Instant end = Instant{} + length;
  while (!failure() && time_.advance(end)) {
    const Ledger* ledger = daemon_.ledger();
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      gpus_[gpu]->set_awaited(ledger != nullptr && !ledger->gpus()[gpu].waiting.empty());
    }
    look_at_memory();
  }
  for (const auto& gpu : gpus_) gpu->settle();
}

void World::run() {
  run_until(plan_.length);
  if (!failure()) daemon_.finish();
}

// What no ledger can show: what processes and cards went through.
void World::look_at_memory() {
  if (!has_memory_) return;
  for (std::size_t gpu = 0; gpu < cards_.size() && plan_.strict_memory; ++gpu) {
    if (cards_[gpu]->broke_promise()) {
      broken_ = "memory_capacity: gpu " + std::to_string(gpu) + " had less than was allowed";
    }
  }
  for (std::size_t number = 0; number < inhabitants_.size(); ++number) {
    if (!inhabitants_[number].process->was_misled()) continue;
    broken_ = "complete_windows: process " + std::to_string(number) + " ran without its memory";
  }
}

Duration World::executed(std::uint32_t tenant, std::uint32_t gpu) const {
  Duration sum;
  for (const Inhabitant& one : inhabitants_) {
    if (one.tenant == tenant) sum += one.process->executed(gpu);
  }
  return sum;
}

Instant World::arrival(Instant& last, Duration lateness) {
  const Duration longest = random_.percent(5) ? plan_.delay_rare : plan_.delay;
  Duration delay = random_.between(longest / 4, longest);
  if (lateness > Duration{} && random_.percent(30)) {
    delay += random_.between(Duration{}, lateness);
  }
  last = std::max(last, time_.now() + delay);
  return last;
}

void World::send_to_daemon(std::uint32_t process, const Message& message) {
  Inhabitant& sender = inhabitants_[process];
  time_.at(arrival(sender.sent, sender.process->lateness()),
           [this, process, message, life = daemon_life_] {
             if (life == daemon_life_) {
               daemon_.receive(process, inhabitants_[process].tenant, message);
             }
           });
}

void World::send_to_process(std::uint32_t process, const core::Effect& effect) {
  Inhabitant& receiver = inhabitants_[process];
  time_.at(arrival(receiver.received, receiver.process->lateness()),
           [this, process, effect, connection = receiver.connection] {
             Inhabitant& now = inhabitants_[process];
             if (connection == now.connection) now.process->receive(effect);
           });
}

void World::plan_happenings() {
  for (const Happening& what : plan_.happenings) {
    time_.after(what.at, [this, &what] { happen(what); });
  }
}

void World::happen(const Happening& what) {
  const std::string who = std::to_string(what.who);
  switch (what.kind) {
    case Happening::Kind::crash:
    case Happening::Kind::leave_and_join:
    case Happening::Kind::freeze:
    case Happening::Kind::refuse_drains:
    case Happening::Kind::keep_memory:
    case Happening::Kind::lose_contexts:
      happen_to_process(what);
      break;
    case Happening::Kind::set_policy:
      daemon_.set_policy(what.who, what.policy);
      break;
    case Happening::Kind::set_capacity:
      daemon_.set_capacity(what.who, what.bytes);
      break;
    case Happening::Kind::take_memory:
      note("somebody takes memory of gpu " + who);
      cards_[what.who]->set_foreign(what.bytes);
      time_.after(what.span, [this, gpu = what.who] { cards_[gpu]->set_foreign(0); });
      break;
    case Happening::Kind::set_priority:
      daemon_.set_priority(what.who, what.priority);
      break;
    case Happening::Kind::set_weight:
      daemon_.set_weight(what.who, what.weight);
      break;
    case Happening::Kind::set_cap:
      daemon_.set_cap(what.who, what.cap);
      break;
    case Happening::Kind::pause:
      daemon_.set_paused(what.who, true);
      time_.after(what.span, [this, who = what.who] { daemon_.set_paused(who, false); });
      break;
    default:
      happen_to_daemon(what);
  }
}

void World::happen_to_process(const Happening& what) {
  const std::uint32_t number = what.who;
  SimProcess& process = *inhabitants_[number].process;
  if (!process.is_alive()) return;
  switch (what.kind) {
    case Happening::Kind::crash:
      note("process " + std::to_string(number) + " dies");
      end_process(number);
      end_peers(number);
      break;
    case Happening::Kind::leave_and_join:
      end_process(number);
      end_peers(number);
      time_.after(what.span, [&process] {
        if (!process.is_alive()) process.start();
      });
      break;
    case Happening::Kind::freeze:
      note("process " + std::to_string(number) + " is frozen");
      process.freeze();
      time_.after(what.span, [&process] { process.thaw(); });
      break;
    case Happening::Kind::keep_memory:
      note("process " + std::to_string(number) + " cannot move its memory");
      process.keep_memory(true);
      time_.after(what.span, [&process] { process.keep_memory(false); });
      break;
    case Happening::Kind::lose_contexts:
      note("process " + std::to_string(number) + " loses its contexts");
      process.lose_contexts();
      break;
    default:
      note("process " + std::to_string(number) + " cannot drain");
      process.set_stuck(true);
      time_.after(what.span, [&process] { process.set_stuck(false); });
  }
}

void World::happen_to_daemon(const Happening& what) {
  switch (what.kind) {
    case Happening::Kind::restart_daemon:
      if (daemon_.is_up()) restart_daemon(what.span);
      break;
    case Happening::Kind::stall_daemon:
      note("the daemon is held up");
      daemon_.stall(what.span);
      break;
    case Happening::Kind::stop_clock:
      note("the clock stands still");
      daemon_.stop_clock(what.span);
      break;
    default:
      note("the clock jumps");
      daemon_.jump_clock(what.span);
  }
}

void World::end_process(std::uint32_t number) {
  Inhabitant& one = inhabitants_[number];
  const bool was_connected = one.process->is_connected();
  one.process->end(plan_.death_lag == Duration{} ? Duration{}
                                                 : random_.between(Duration{}, plan_.death_lag));
  one.connection = 0;
  if (was_connected) send_to_daemon(number, {Message::Kind::goodbye, {}, {}, false, {}, {}});
}

// The members of a group do not outlive each other for long: their work cannot end.
void World::end_peers(std::uint32_t number) {
  const std::uint32_t tenant = inhabitants_[number].tenant;
  if (!has_collective(plan_.tenants[tenant])) return;
  for (std::uint32_t other = 0; other < inhabitants_.size(); ++other) {
    if (other == number || inhabitants_[other].tenant != tenant) continue;
    time_.after(random_.between(Duration{}, kPeersNotice), [this, other] {
      if (inhabitants_[other].process->is_alive()) end_process(other);
    });
  }
}

void World::restart_daemon(Duration away) {
  note("the daemon is killed");
  daemon_.stop();
  ++daemon_life_;
  for (Inhabitant& one : inhabitants_) {
    if (!one.process->is_connected()) continue;
    one.connection = 0;
    time_.after(random_.between(Duration::from_us(10), plan_.delay), [&one] {
      if (one.process->is_alive() && one.process->is_connected()) one.process->lose_connection();
    });
  }
  time_.after(away, [this] {
    note("the daemon is back");
    daemon_.start();
  });
}

}  // namespace nvs::sim
