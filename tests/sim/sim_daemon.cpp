// SPDX-License-Identifier: Apache-2.0
#include "sim_daemon.h"

#include "checkers/checkers.h"

namespace nvs::sim {
namespace {

// After its start all that are found open are waited for. Real daemons give them longer; here some
// come late.
constexpr Duration kReadoption = Duration::from_ms(500);

template <class Id>
std::size_t number_of(Id id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

SimDaemon::SimDaemon(SimTime& time, Trace& trace, Meter& meter,
                     std::vector<core::GpuPolicy> policies, std::vector<TenantSettings> tenants,
                     RunTraits traits, Send send)
    : time_(time),
      trace_(trace),
      meter_(meter),
      clock_(time),
      policies_(std::move(policies)),
      tenants_(std::move(tenants)),
      capacities_(policies_.size(), traits.capacity),
      traits_(traits),
      send_(std::move(send)) {}

void SimDaemon::start() {
  ++life_;
  Checkers checkers = make_all_checkers(traits_);
  checkers.push_back(meter_.make_observer(tenant_number_));
  started_ = clock_.now();
  run_ = std::make_unique<CoreRun>(std::move(checkers), trace_);
  groups_.assign(tenants_.size(), {});
  sessions_.clear();
  client_process_.assign(1, 0);
  tenant_number_.assign(1, 0);
  for (std::uint32_t gpu = 0; gpu < policies_.size(); ++gpu) {
    step(core::GpuAdded{core::GpuId{gpu}, capacities_[gpu], policies_[gpu]});
  }
}

void SimDaemon::stop() {
  if (!run_) return;
  meter_.add(run_->view());
  run_->look_back();
  if (!failure_) failure_ = run_->failure();
  ++life_;
  run_.reset();
  pending_.clear();
  stalled_ = false;
  armed_.reset();
}

void SimDaemon::stall(Duration span) {
  if (!run_ || stalled_) return;
  stalled_ = true;
  run_->excuse(span);
  time_.after(span, [this, life = life_] {
    if (life == life_) end_stall();
  });
}

void SimDaemon::end_stall() {
  stalled_ = false;
  const std::vector<Pending> late = std::move(pending_);
  pending_.clear();
  for (const Pending& one : late) receive(one.process, one.tenant, one.message);
  wake();
}

void SimDaemon::jump_clock(Duration span) {
  if (run_) run_->excuse(span);
  clock_.jump(span);
  armed_.reset();
  arm();
}

void SimDaemon::stop_clock(Duration span) {
  clock_.stop();
  if (run_) run_->excuse(span);
  time_.after(span, [this] {
    clock_.go_on();
    armed_.reset();
    arm();
  });
}

void SimDaemon::step(const core::Event& event) {
  if (!run_ || failure_) return;
  ++steps_;
  const std::vector<core::Effect>& effects = run_->step(clock_.now(), event);
  for (const core::Effect& effect : effects) {
    const auto client = std::visit([](const auto& item) { return item.client; }, effect);
    if (number_of(client) < client_process_.size())
      send_(client_process_[number_of(client)], effect);
  }
  failure_ = run_->failure();
  arm();
}

// One timer is enough: when it fires too early it is set again.
void SimDaemon::arm() {
  if (!run_) return;
  const std::optional<Instant> deadline = run_->next_deadline();
  const std::optional<Instant> due = deadline ? clock_.when(*deadline) : std::nullopt;
  if (!due || (armed_ && *armed_ <= *due)) return;
  armed_ = *due;
  time_.at(*due + kTimerLate, [this, due = *due] {
    if (armed_ == due) wake();
  });
}

void SimDaemon::wake() {
  if (!run_ || stalled_) return;
  armed_.reset();
  const std::optional<Instant> deadline = run_->next_deadline();
  if (deadline && *deadline <= clock_.now()) {
    step(core::Tick{});
  } else {
    arm();
  }
}

void SimDaemon::join(std::uint32_t process, std::uint32_t tenant) {
  if (sessions_.size() <= process) sessions_.resize(process + 1);
  const core::ClientId client{client_process_.size()};
  client_process_.push_back(process);
  Group& group = groups_[tenant];
  const bool first = group.clients++ == 0;
  if (first) {
    group.id = core::TenantId{tenant_number_.size()};
    tenant_number_.push_back(tenant);
  }
  sessions_[process] = {client, tenant};
  const TenantSettings& settings = tenants_[tenant];
  step(core::ClientJoined{client, group.id, settings.priority, settings.weight, settings.cap});
  if (first && settings.paused) step(core::TenantPaused{group.id});
}

void SimDaemon::leave(std::uint32_t process) {
  Session& session = sessions_[process];
  const core::ClientId client = session.client;
  Group& group = groups_[session.tenant];
  session.client = {};
  if (--group.clients == 0) group.id = {};
  step(core::ClientLeft{client});
}

void SimDaemon::receive(std::uint32_t process, std::uint32_t tenant, const Message& message) {
  if (!run_) return;
  if (stalled_) {
    pending_.push_back({process, tenant, message});
  } else if (message.kind == Message::Kind::hello) {
    join(process, tenant);
  } else if (process < sessions_.size() && number_of(sessions_[process].client) != 0) {
    perform(process, message);
  }
}

void SimDaemon::perform(std::uint32_t process, const Message& message) {
  const core::ClientId client = sessions_[process].client;
  const auto& [kind, gpu, grant, waiting, span, memory] = message;
  switch (kind) {
    case Message::Kind::hello:
      break;
    case Message::Kind::use_open_gpu:
      step(core::FoundOpen{client, gpu, clock_.now() - started_ <= kReadoption});
      break;
    case Message::Kind::want:
      step(core::Wanted{client, gpu});
      break;
    case Message::Kind::idle:
      step(core::WentIdle{client, gpu, grant, span});
      break;
    case Message::Kind::busy:
      step(core::WentBusy{client, gpu, grant, span});
      break;
    case Message::Kind::drained:
      step(core::Drained{client, gpu, grant, waiting, span});
      break;
    case Message::Kind::draining:
      step(core::StillDraining{client, gpu, grant, span});
      break;
    case Message::Kind::stalled:
      step(core::DrainStalled{client, gpu, grant});
      break;
    case Message::Kind::refused:
      step(core::DrainRefused{client, gpu, grant});
      break;
    case Message::Kind::holds:
      step(core::MemoryHeld{client, gpu, memory.number, memory.resident, memory.away, memory.fixed,
                            memory.asked, memory.is_short, memory.is_faulted, memory.stays,
                            memory.reached});
      break;
    case Message::Kind::goodbye:
      leave(process);
      break;
  }
}

void SimDaemon::set_policy(std::uint32_t gpu, const core::GpuPolicy& policy) {
  policies_[gpu] = policy;
  step(core::PolicySet{core::GpuId{gpu}, policy});
}

void SimDaemon::set_capacity(std::uint32_t gpu, std::uint64_t bytes) {
  capacities_[gpu] = bytes;
  step(core::CapacitySet{core::GpuId{gpu}, bytes});
}

void SimDaemon::set_priority(std::uint32_t tenant, core::Priority priority) {
  tenants_[tenant].priority = priority;
  if (run_ && groups_[tenant].clients != 0) step(core::PrioritySet{groups_[tenant].id, priority});
}

void SimDaemon::set_weight(std::uint32_t tenant, std::uint32_t weight) {
  tenants_[tenant].weight = weight;
  if (run_ && groups_[tenant].clients != 0) step(core::WeightSet{groups_[tenant].id, weight});
}

void SimDaemon::set_cap(std::uint32_t tenant, core::Share cap) {
  tenants_[tenant].cap = cap;
  if (run_ && groups_[tenant].clients != 0) step(core::CapSet{groups_[tenant].id, cap});
}

void SimDaemon::set_paused(std::uint32_t tenant, bool paused) {
  tenants_[tenant].paused = paused;
  if (!run_ || groups_[tenant].clients == 0) return;
  if (paused) {
    step(core::TenantPaused{groups_[tenant].id});
  } else {
    step(core::TenantResumed{groups_[tenant].id});
  }
}

void SimDaemon::finish() {
  if (!run_) return;
  meter_.add(run_->view());
  run_->look_back();
  for (std::uint32_t process = 0; process < sessions_.size(); ++process) {
    if (number_of(sessions_[process].client) != 0) leave(process);
  }
  run_->end();
  if (!failure_) failure_ = run_->failure();
  run_.reset();
}

}  // namespace nvs::sim
