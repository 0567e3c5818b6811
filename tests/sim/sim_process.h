// SPDX-License-Identifier: Apache-2.0
// A process with libnvshare.so in it, as far as the daemon can tell: it has a gate per GPU, submits
// work while it is open, drains when it is told to, and can be frozen, slow, stuck or dead. Without
// a daemon its gates are open.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "collective.h"
#include "core/effect.h"
#include "message.h"
#include "plan.h"
#include "random.h"
#include "sim_card.h"
#include "sim_gpu.h"
#include "sim_memory.h"
#include "sim_time.h"

namespace nvs::sim {

// What a process needs of its world.
struct Surroundings {
  SimTime& time;
  Random& random;
  std::vector<std::unique_ptr<SimGpu>>& gpus;
  std::vector<std::unique_ptr<SimCard>>& cards;
  std::vector<std::unique_ptr<Collective>>& collectives;
};

class SimProcess {
 public:
  // `send` takes messages for the daemon; `connect` asks for a connection and says whether there is
  // a daemon.
  SimProcess(Surroundings world, const ProcessPlan& plan, std::function<void(Message)> send,
             std::function<bool()> connect);
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  void start();
  // Ends at once; its work on the GPUs is gone. The daemon learns of it from its socket.
  void end(Duration lag = {});
  bool is_alive() const { return alive_; }
  bool is_connected() const { return connected_; }
  Duration lateness() const { return plan_.lateness; }
  // It was told to run while some of its memory was away, and not because words crossed.
  bool was_misled() const { return misled_; }

  void receive(const core::Effect& effect);
  void lose_connection();
  void freeze();
  void thaw();
  // A kernel that does not end runs from now on, or is ended.
  void set_stuck(bool stuck);
  // None of its memory can leave, or it can again.
  void keep_memory(bool keeps);
  // Whatever it submits from now on fails.
  void lose_contexts();
  // GPU time that its work has had on a GPU.
  Duration executed(std::uint32_t gpu) const;

 private:
  struct Seat {
    Seat(Load load_of, std::function<void()> on_done) : load(load_of), work(std::move(on_done)) {}
    Load load;
    SimWork work;
    std::unique_ptr<SimMemory> memory;  // nothing: it does not tell
    Duration backlog;                   // not submitted yet
    std::size_t member = 0;
    bool open = false;
    bool closing = false;  // drains: told to close, or let in after it had closed
    bool told_want = false;
    bool told_idle = false;
    bool unsure = false;  // opened unasked: whether the daemon takes it for idle is not known
    bool stuck = false;
    bool faulted = false;
    core::GrantId grant{};
    core::WindowTerms terms;
    bool was_queued = false;
    Instant done;            // when it last had nothing queued any more
    bool late_busy = false;  // has work again, and will say so
    Instant busy_since;
    std::uint64_t busies = 0;
    Instant bounded_since;  // from then on the queue runs down to the bound
    std::uint64_t drains = 0;
    std::uint64_t idles = 0;
    int drain_checks = 0;
  };

  SimGpu& gpu(const Seat& seat) { return *world_.gpus[seat.load.gpu]; }
  Collective& group(const Seat& seat) { return *world_.collectives[seat.load.group]; }
  static bool is_complete(const Seat& seat) {
    return seat.memory == nullptr || seat.memory->is_complete();
  }
  bool in_group(const Seat& seat) const { return seat.load.kind == Load::Kind::collective; }
  Seat* seat_on(core::GpuId id);
  void say(const Seat& seat, Message::Kind kind, bool waiting = false, Duration span = {});
  void try_connect(Duration back_off);

  void handle(const core::OpenWindow& effect);
  void handle(const core::ChangeTerms& effect);
  void handle(const core::CloseWindow& effect);
  void handle(const core::LetOneIn& effect);
  // A hint; nobody here has to wake up.
  void handle(const core::GetReady&) {}
  void handle(const core::SetAllowance& effect);
  void send_back(Seat& seat, core::GrantId grant);
  void send_back_faulted(Seat& seat, core::GrantId grant);
  void add_memory(std::size_t index);
  void set_terms(Seat& seat, core::WindowTerms terms);

  void pump(Seat& seat);
  void submit(Seat& seat);
  void submit_one(Seat& seat);
  void hold_back(Seat& seat);
  Duration queue_limit(const Seat& seat) const;
  bool has_more(const Seat& seat);
  bool has_queued(Seat& seat);
  void finish_drain(Seat& seat);
  void check_drain(Seat& seat, std::uint64_t drain);
  void watch_idle(Seat& seat);
  void watch_busy(Seat& seat);
  void say_busy(Seat& seat);
  // How long it has been so, as far as it tells.
  Duration told_since(Instant begin);
  void go_idle(Seat& seat);
  void on_done(Seat& seat);
  void begin_load(Seat& seat);
  void arrive(Seat& seat);

  Surroundings world_;
  ProcessPlan plan_;
  std::function<void(Message)> send_;
  std::function<bool()> connect_;
  std::vector<std::unique_ptr<Seat>> seats_;
  std::vector<core::Effect> inbox_;  // of a frozen process
  bool alive_ = false;
  bool connected_ = false;
  bool frozen_ = false;
  bool lost_while_frozen_ = false;
  bool misled_ = false;
  std::uint64_t life_ = 0;  // timers of an earlier one mean nothing
};

}  // namespace nvs::sim
