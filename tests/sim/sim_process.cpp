// SPDX-License-Identifier: Apache-2.0
// Its life, its connection, and what the daemon tells it; sim_process_work.cpp has the work.
#include "sim_process.h"

#include <algorithm>

namespace nvs::sim {
namespace {

constexpr Duration kBackOffMin = Duration::from_ms(50);
constexpr Duration kBackOffMax = Duration::from_s(1);

}  // namespace

SimProcess::SimProcess(Surroundings world, const ProcessPlan& plan,
                       std::function<void(Message)> send, std::function<bool()> connect)
    : world_(world), plan_(plan), send_(std::move(send)), connect_(std::move(connect)) {
  for (const Load& load : plan_.loads) {
    const std::size_t index = seats_.size();
    seats_.push_back(std::make_unique<Seat>(load, [this, index] { on_done(*seats_[index]); }));
    Seat& seat = *seats_.back();
    if (load.memory.bytes > 0) add_memory(index);
    if (in_group(seat)) {
      seat.member = group(seat).add_member([this, index] { pump(*seats_[index]); });
    }
  }
}

void SimProcess::add_memory(std::size_t index) {
  Seat& seat = *seats_[index];
  SimMemory::Owner owner;
  owner.may_move_out = [&seat, this] { return !seat.open && !seat.closing && !has_queued(seat); };
  owner.tell = [&seat, this](const Holdings& memory) {
    if (!connected_) return;
    Message message;
    message.kind = Message::Kind::holds;
    message.gpu = core::GpuId{seat.load.gpu};
    message.memory = memory;
    send_(message);
  };
  owner.on_first_complete = [&seat, this] { begin_load(seat); };
  seat.memory = std::make_unique<SimMemory>(world_.time, *world_.cards[seat.load.gpu],
                                            seat.load.memory, std::move(owner));
}

void SimProcess::start() {
  ++life_;
  alive_ = true;
  frozen_ = lost_while_frozen_ = false;
  inbox_.clear();
  for (const auto& seat : seats_) {
    if (in_group(*seat) && group(*seat).is_broken()) group(*seat).begin_anew();
    seat->open = seat->closing = seat->told_want = seat->told_idle = seat->stuck = false;
    seat->faulted = seat->late_busy = seat->was_queued = false;
    seat->done = world_.time.now();
    seat->backlog = Duration{};
    seat->grant = {};
    if (seat->memory) seat->memory->start();
  }
  try_connect(kBackOffMin);
  if (!connected_) {
    for (const auto& seat : seats_) seat->open = true;
  }
  for (const auto& seat : seats_) {
    if (!seat->memory) begin_load(*seat);
  }
}

void SimProcess::end(Duration lag) {
  if (!alive_) return;
  ++life_;
  alive_ = connected_ = false;
  for (const auto& seat : seats_) {
    gpu(*seat).set_left(seat->work, Duration{});
    if (in_group(*seat)) group(*seat).break_down();
    ++seat->drains;
    ++seat->idles;
    if (seat->memory) seat->memory->end(lag);
  }
}

SimProcess::Seat* SimProcess::seat_on(core::GpuId id) {
  for (const auto& seat : seats_) {
    if (seat->load.gpu == core::index_of(id)) return seat.get();
  }
  return nullptr;
}

Duration SimProcess::executed(std::uint32_t number) const {
  for (const auto& seat : seats_) {
    if (seat->load.gpu == number) return seat->work.executed();
  }
  return {};
}

void SimProcess::say(const Seat& seat, Message::Kind kind, bool waiting, Duration span) {
  if (connected_) send_({kind, core::GpuId{seat.load.gpu}, seat.grant, waiting, span, {}});
}

void SimProcess::try_connect(Duration back_off) {
  if (!alive_ || connected_ || frozen_) return;
  connected_ = connect_();
  if (!connected_) {
    world_.time.after(back_off, [this, back_off, life = life_] {
      if (life == life_) try_connect(std::min(back_off * 2, kBackOffMax));
    });
    return;
  }
  send_({Message::Kind::hello, {}, {}, false, {}, {}});
  for (const auto& seat : seats_) {
    if (seat->open) say(*seat, Message::Kind::use_open_gpu);
    seat->told_want = false;
    if (!seat->memory) continue;
    seat->memory->tell();
    pump(*seat);  // one that lacks memory has waited at its gate
  }
}

// A process without its daemon runs on by itself.
void SimProcess::lose_connection() {
  if (frozen_) {
    lost_while_frozen_ = true;
    return;
  }
  connected_ = false;
  inbox_.clear();
  for (const auto& seat : seats_) {
    seat->open = is_complete(*seat) && !seat->faulted;
    if (seat->memory) seat->memory->lose_daemon();
    seat->closing = seat->told_want = seat->told_idle = seat->late_busy = false;
    seat->grant = {};
    seat->terms = {};
    ++seat->drains;
    pump(*seat);
  }
  world_.time.after(kBackOffMin, [this, life = life_] {
    if (life == life_) try_connect(kBackOffMin);
  });
}

void SimProcess::freeze() {
  if (!alive_ || frozen_) return;
  frozen_ = true;
  for (const auto& seat : seats_) {
    if (seat->open) hold_back(*seat);
    if (seat->memory) seat->memory->freeze();
  }
}

void SimProcess::thaw() {
  if (!alive_ || !frozen_) return;
  frozen_ = false;
  if (lost_while_frozen_) {
    lost_while_frozen_ = false;
    for (const auto& seat : seats_) {
      if (!seat->memory) continue;
      seat->memory->lose_daemon();
      seat->memory->thaw();
    }
    lose_connection();
    return;
  }
  // What it was doing before comes before what it was told meanwhile: it cannot know which is
  // first.
  for (const auto& seat : seats_) {
    pump(*seat);
    if (seat->memory) seat->memory->thaw();
  }
  const std::vector<core::Effect> told = std::move(inbox_);
  inbox_.clear();
  for (const core::Effect& effect : told) receive(effect);
  if (!connected_) try_connect(kBackOffMin);
}

void SimProcess::set_stuck(bool stuck) {
  if (!alive_) return;
  for (const auto& seat : seats_) {
    if (in_group(*seat)) continue;
    if (!stuck && seat->stuck) {
      seat->stuck = false;
      if (seat->load.kind == Load::Kind::saturating) seat->backlog = kForever;
      gpu(*seat).set_left(seat->work, Duration{});
      on_done(*seat);
    } else if (stuck && seat->open) {
      seat->stuck = true;
      gpu(*seat).set_left(seat->work, kForever);
      pump(*seat);
    }
  }
}

void SimProcess::keep_memory(bool keeps) {
  if (!alive_) return;
  for (const auto& seat : seats_) {
    if (seat->memory) seat->memory->set_stays(keeps);
  }
}

// Those whose kernels wait for each other are left out: they would have to end together.
void SimProcess::lose_contexts() {
  const auto is_member = [this](const auto& seat) { return in_group(*seat); };
  if (!alive_ || frozen_ || std::any_of(seats_.begin(), seats_.end(), is_member)) return;
  for (const auto& seat : seats_) {
    seat->faulted = true;
    seat->stuck = false;
    seat->backlog = Duration{};
    gpu(*seat).set_left(seat->work, Duration{});
    if (seat->memory) seat->memory->lose_context();
    if (seat->open || seat->closing) send_back_faulted(*seat, seat->grant);
  }
}

void SimProcess::send_back_faulted(Seat& seat, core::GrantId grant) {
  seat.open = seat.closing = seat.told_want = seat.told_idle = seat.late_busy = false;
  seat.grant = grant;
  ++seat.drains;
  ++seat.idles;
  say(seat, Message::Kind::drained);
}

void SimProcess::receive(const core::Effect& effect) {
  if (!alive_ || !connected_) return;
  if (frozen_) {
    inbox_.push_back(effect);
    return;
  }
  std::visit([this](const auto& item) { handle(item); }, effect);
}

void SimProcess::handle(const core::OpenWindow& effect) {
  Seat* seat = seat_on(effect.gpu);
  if (seat == nullptr) return;
  if (seat->faulted) return send_back_faulted(*seat, effect.grant);
  if (!seat->open && !seat->closing && !is_complete(*seat)) {
    send_back(*seat, effect.grant);
    return;
  }
  // One that did not ask for its window says both, that it is idle and that it is busy.
  seat->unsure = seat->told_idle = !seat->told_want && !seat->open;
  seat->open = true;
  seat->closing = seat->told_want = seat->late_busy = false;
  seat->grant = effect.grant;
  seat->terms = {};
  ++seat->drains;
  set_terms(*seat, effect.terms);
  // Its queue was empty and has nothing to run down.
  seat->bounded_since = world_.time.now() - seat->load.depth;
  pump(*seat);
}

// The daemon does not know yet that it moves out what it has just taken: words crossed.
void SimProcess::send_back(Seat& seat, core::GrantId grant) {
  misled_ = misled_ || !seat.memory->has_grown_lately();
  seat.grant = grant;
  seat.memory->tell();
  seat.told_want = has_more(seat);
  say(seat, Message::Kind::drained, seat.told_want);  // it was never in
}

void SimProcess::handle(const core::SetAllowance& effect) {
  Seat* seat = seat_on(effect.gpu);
  if (seat != nullptr && seat->memory) seat->memory->allow(effect.number, effect.bytes);
}

void SimProcess::handle(const core::ChangeTerms& effect) {
  Seat* seat = seat_on(effect.gpu);
  if (seat == nullptr || !seat->open || seat->grant != effect.grant) return;
  set_terms(*seat, effect.terms);
  if (seat->late_busy && has_queued(*seat)) say_busy(*seat);
  if (seat->told_idle && seat->terms.awaited) go_idle(*seat);
  pump(*seat);
}

void SimProcess::set_terms(Seat& seat, core::WindowTerms terms) {
  // Its queue runs down from what it may hold so far.
  const Duration held = seat.terms.bounded() ? seat.terms.queue_bound : seat.load.depth;
  if (terms.bounded() && terms.queue_bound < held) seat.bounded_since = world_.time.now();
  seat.terms = terms;
}

void SimProcess::handle(const core::CloseWindow& effect) {
  Seat* seat = seat_on(effect.gpu);
  if (seat == nullptr || seat->closing) return;
  seat->grant = effect.grant;
  if (!seat->open) {
    say(*seat, Message::Kind::drained, has_more(*seat));  // it had given the window up
    return;
  }
  hold_back(*seat);
  seat->open = false;
  seat->closing = true;
  seat->told_idle = seat->late_busy = false;
  seat->drain_checks = 0;
  check_drain(*seat, ++seat->drains);
  if (connected_ && !in_group(*seat) && !seat->stuck && has_queued(*seat)) {
    send_({Message::Kind::draining, effect.gpu, seat->grant, false, seat->work.left(), {}});
  }
  pump(*seat);
}

// One that is closed for good drains again after that: it says Drained once more when what it was
// let in with is done, and whether more waits.
void SimProcess::handle(const core::LetOneIn& effect) {
  Seat* seat = seat_on(effect.gpu);
  if (seat == nullptr || seat->open || (seat->closing && seat->grant > effect.grant)) return;
  if (seat->faulted) return send_back_faulted(*seat, effect.grant);
  // It has drained meanwhile, and needs nobody any more: one that was closed gets a fresh grant.
  if (!seat->closing && seat->grant == effect.grant) return;
  if (!seat->closing && !is_complete(*seat)) {
    send_back(*seat, effect.grant);
    return;
  }
  seat->grant = effect.grant;
  // Those who still wait then say so again.
  seat->told_want = false;
  seat->drain_checks = 0;
  if (has_more(*seat)) submit_one(*seat);
  if (!seat->closing) {
    seat->closing = true;
    check_drain(*seat, ++seat->drains);
  }
  pump(*seat);
}

void SimProcess::submit_one(Seat& seat) {
  if (in_group(seat)) {
    group(seat).submit(seat.member);
    if (has_queued(seat)) gpu(seat).set_left(seat.work, kForever);
  } else {
    const Duration one = std::min(seat.backlog, seat.load.kernel);
    if (seat.backlog < kForever) seat.backlog -= one;
    gpu(seat).add(seat.work, one);
  }
}

}  // namespace nvs::sim
