// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/checkers/history.h"

#include <gtest/gtest.h>

namespace nvs::sim {

History::History(std::unique_ptr<Checker> checker, std::uint32_t gpus, core::GpuPolicy policy)
    : checker_(std::move(checker)) {
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) step(core::GpuAdded{core::GpuId{gpu}, 0, policy});
  wait(Duration::from_s(10));  // the policy is nothing new
}

History& History::wait(Duration span) {
  now_ += span;
  return *this;
}

History& History::step(const core::Event& event, const std::vector<core::Effect>& effects) {
  ledger_.apply(now_, event);
  checker_->on_event(ledger_, event);
  for (const core::Effect& effect : effects) {
    checker_->on_effect(ledger_, effect);
    ledger_.apply(now_, effect);
  }
  checker_->on_settled(ledger_, deadline_);
  return *this;
}

History& History::deadline(std::optional<Instant> at) {
  deadline_ = at;
  return *this;
}

History& History::look_back(const core::NodeView& view) {
  checker_->on_last_look(ledger_, view);
  return *this;
}

History& History::end(const core::NodeView& view) {
  checker_->on_end(ledger_, view);
  return *this;
}

History& History::join(int client, int tenant, core::Priority priority, std::uint32_t weight) {
  return step(core::ClientJoined{core::ClientId(client), core::TenantId(tenant), priority, weight});
}

History& History::want(int client, const std::vector<core::Effect>& effects, int gpu) {
  return step(core::Wanted{core::ClientId(client), core::GpuId(gpu)}, effects);
}

History& History::drained(int client, int grant, const std::vector<core::Effect>& effects) {
  return step(core::Drained{core::ClientId(client), core::GpuId{0}, core::GrantId(grant)}, effects);
}

History& History::idle(int client, int grant, const std::vector<core::Effect>& effects) {
  return step(core::WentIdle{core::ClientId(client), core::GpuId{0}, core::GrantId(grant)},
              effects);
}

History& History::holds(int client, std::uint64_t number, std::uint64_t resident,
                        std::uint64_t away, const std::vector<core::Effect>& effects,
                        std::uint64_t asked) {
  return step(core::MemoryHeld{core::ClientId(client), core::GpuId{0}, number, resident, away, 0,
                               asked, false},
              effects);
}

core::SetAllowance allow(int client, std::uint64_t number, std::uint64_t bytes) {
  return {core::ClientId(client), core::GpuId{0}, number, bytes, true};
}
core::OpenWindow open(int client, int grant, core::WindowTerms terms, int gpu) {
  return {core::ClientId(client), core::GpuId(gpu), core::GrantId(grant), terms};
}
core::CloseWindow close(int client, int grant, int gpu) {
  return {core::ClientId(client), core::GpuId(gpu), core::GrantId(grant)};
}
core::ChangeTerms change(int client, int grant, core::WindowTerms terms) {
  return {core::ClientId(client), core::GpuId{0}, core::GrantId(grant), terms};
}
core::LetOneIn let_in(int client, int grant, int gpu) {
  return {core::ClientId(client), core::GpuId(gpu), core::GrantId(grant)};
}

void expect_complaint(const History& history, const std::string& part) {
  EXPECT_NE(history.complaint().find(part), std::string::npos) << history.complaint();
}

}  // namespace nvs::sim
