// SPDX-License-Identifier: Apache-2.0
// A plan brought to life: GPUs, processes, the daemon with the real core, messages on their way in
// both directions, and everything that goes wrong. The same plan and seed give the same run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collective.h"
#include "meter.h"
#include "plan.h"
#include "random.h"
#include "sim_card.h"
#include "sim_daemon.h"
#include "sim_gpu.h"
#include "sim_process.h"
#include "sim_time.h"
#include "trace.h"

namespace nvs::sim {

class World {
 public:
  World(Plan plan, std::uint64_t seed, Trace& trace);

  // Runs it to its end, or to the first broken promise.
  void run();
  // The same up to then, from its beginning; run() goes on from there.
  void run_until(Duration length);

  const Plan& plan() const { return plan_; }
  const Meter& meter() const { return meter_; }
  const SimGpu& gpu(std::size_t number) const { return *gpus_[number]; }
  // GPU time that a tenant's work has had, as the GPU saw it.
  Duration executed(std::uint32_t tenant, std::uint32_t gpu) const;
  Instant now() const { return time_.now(); }
  std::uint64_t steps() const { return daemon_.steps(); }
  bool has_memory() const { return has_memory_; }
  const SimCard& card(std::size_t number) const { return *cards_[number]; }
  const std::optional<std::string>& failure() const {
    return broken_ ? broken_ : daemon_.failure();
  }

 private:
  struct Inhabitant {
    std::unique_ptr<SimProcess> process;
    std::uint32_t tenant = 0;
    std::uint64_t connection = 0;
    Instant sent;      // when its last message to the daemon arrives
    Instant received;  // when the daemon's last message to it arrives
  };

  void add_processes();
  void plan_happenings();
  void happen(const Happening& what);
  void happen_to_process(const Happening& what);
  void happen_to_daemon(const Happening& what);
  void send_to_daemon(std::uint32_t process, const Message& message);
  void send_to_process(std::uint32_t process, const core::Effect& effect);
  Instant arrival(Instant& last, Duration lateness);
  void end_process(std::uint32_t process);
  void end_peers(std::uint32_t process);
  void restart_daemon(Duration away);
  void look_at_memory();
  void note(const std::string& text) { trace_.note(daemon_.clock_now(), text); }

  Plan plan_;
  Random random_;
  Trace& trace_;
  SimTime time_;
  Meter meter_;
  std::vector<std::unique_ptr<SimGpu>> gpus_;
  std::vector<std::unique_ptr<SimCard>> cards_;
  std::vector<std::unique_ptr<Collective>> collectives_;
  std::vector<Inhabitant> inhabitants_;
  std::uint64_t connections_ = 0;
  std::uint64_t daemon_life_ = 0;
  SimDaemon daemon_;
  std::optional<std::string> broken_;
  bool has_memory_ = false;  // somebody tells about it
  bool begun_ = false;
};

}  // namespace nvs::sim
