// SPDX-License-Identifier: Apache-2.0
// nvshare-scheduler as far as its clients can tell: it turns their messages into events, steps the
// core, sends effects back and wakes up for deadlines. It can be stopped and started anew, and be
// held up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "checkers/checkers.h"
#include "core_run.h"
#include "message.h"
#include "meter.h"
#include "plan.h"
#include "sim_clock.h"
#include "sim_time.h"

namespace nvs::sim {

// What is known of a tenant apart from its clients; it outlives daemons.
struct TenantSettings {
  core::Priority priority = core::Priority::normal;
  std::uint32_t weight = 100;
  bool paused = false;
  core::Share cap = core::kNoCap;
};

class SimDaemon {
 public:
  using Send = std::function<void(std::uint32_t process, const core::Effect& effect)>;

  SimDaemon(SimTime& time, Trace& trace, Meter& meter, std::vector<core::GpuPolicy> policies,
            std::vector<TenantSettings> tenants, RunTraits traits, Send send);

  void start();
  // Gone at once, with all it knew.
  void stop();
  bool is_up() const { return run_ != nullptr; }
  void stall(Duration span);
  void jump_clock(Duration span);
  void stop_clock(Duration span);

  void receive(std::uint32_t process, std::uint32_t tenant, const Message& message);
  void set_policy(std::uint32_t gpu, const core::GpuPolicy& policy);
  void set_capacity(std::uint32_t gpu, std::uint64_t bytes);
  void set_priority(std::uint32_t tenant, core::Priority priority);
  void set_weight(std::uint32_t tenant, std::uint32_t weight);
  void set_cap(std::uint32_t tenant, core::Share cap);
  void set_paused(std::uint32_t tenant, bool paused);
  // All clients leave, and the books must be empty.
  void finish();

  const Ledger* ledger() const { return run_ ? &run_->ledger() : nullptr; }
  const std::optional<std::string>& failure() const { return failure_; }
  Instant clock_now() const { return clock_.now(); }
  std::uint64_t steps() const { return steps_; }

 private:
  struct Session {
    core::ClientId client{};  // 0: none
    std::uint32_t tenant = 0;
  };
  struct Group {
    core::TenantId id{};  // 0: no clients
    std::uint32_t clients = 0;
  };
  struct Pending {
    std::uint32_t process;
    std::uint32_t tenant;
    Message message;
  };

  void step(const core::Event& event);
  void join(std::uint32_t process, std::uint32_t tenant);
  void leave(std::uint32_t process);
  void perform(std::uint32_t process, const Message& message);
  void arm();
  void wake();
  void end_stall();
  std::uint32_t process_of(core::ClientId client) const;

  SimTime& time_;
  Trace& trace_;
  Meter& meter_;
  SimClock clock_;
  std::vector<core::GpuPolicy> policies_;
  std::vector<TenantSettings> tenants_;
  std::vector<std::uint64_t> capacities_;
  RunTraits traits_;
  Send send_;
  std::unique_ptr<CoreRun> run_;
  std::vector<Session> sessions_;              // by process
  std::vector<Group> groups_;                  // by tenant
  std::vector<std::uint32_t> client_process_;  // by client
  std::vector<std::uint32_t> tenant_number_;   // by core::TenantId
  std::vector<Pending> pending_;               // came while it was held up
  Instant started_;
  bool stalled_ = false;
  std::optional<Instant> armed_;
  std::uint64_t life_ = 0;
  std::uint64_t steps_ = 0;
  std::optional<std::string> failure_;
};

}  // namespace nvs::sim
