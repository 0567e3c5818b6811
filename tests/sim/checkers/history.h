// SPDX-License-Identifier: Apache-2.0
// Histories written by hand, for tests that show that a checker can fail: what happened, what the
// core is said to have done about it, and what the checker says.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/checker.h"
#include "tests/sim/ledger.h"

namespace nvs::sim {

class History {
 public:
  explicit History(std::unique_ptr<Checker> checker, std::uint32_t gpus = 1,
                   core::GpuPolicy policy = {});

  // Time goes on.
  History& wait(Duration span);
  History& step(const core::Event& event, const std::vector<core::Effect>& effects = {});
  // The deadline that the core is said to have from now on.
  History& deadline(std::optional<Instant> at);
  History& look_back(const core::NodeView& view);
  History& end(const core::NodeView& view = {});

  Instant now() const { return now_; }
  // Empty if the checker is content.
  std::string complaint() const { return checker_->complaint().value_or(""); }

  // Short for what tests are made of. Client n is of tenant n, but where a tenant is named.
  History& join(int client) { return join(client, client); }
  History& join(int client, int tenant, core::Priority priority = core::Priority::normal,
                std::uint32_t weight = 100);
  History& leave(int client) { return step(core::ClientLeft{core::ClientId(client)}); }
  History& want(int client, const std::vector<core::Effect>& effects = {}, int gpu = 0);
  History& drained(int client, int grant, const std::vector<core::Effect>& effects = {});
  History& idle(int client, int grant, const std::vector<core::Effect>& effects = {});
  // Tells about its memory; `asked` and the rest are nothing.
  History& holds(int client, std::uint64_t number, std::uint64_t resident, std::uint64_t away,
                 const std::vector<core::Effect>& effects = {}, std::uint64_t asked = 0);
  History& tick(const std::vector<core::Effect>& effects) { return step(core::Tick{}, effects); }

 private:
  std::shared_ptr<Checker> checker_;  // shared by copies, so that histories can be chained
  Ledger ledger_;
  Instant now_;
  std::optional<Instant> deadline_;
};

core::OpenWindow open(int client, int grant, core::WindowTerms terms = {}, int gpu = 0);
core::CloseWindow close(int client, int grant, int gpu = 0);
core::ChangeTerms change(int client, int grant, core::WindowTerms terms);
core::SetAllowance allow(int client, std::uint64_t number, std::uint64_t bytes);
core::LetOneIn let_in(int client, int grant, int gpu = 0);

inline constexpr core::WindowTerms kAwaited{core::kQueueBound, true};
constexpr Duration ms(int n) { return Duration::from_ms(n); }

// Fails the test unless the checker complains, in words that have this part.
void expect_complaint(const History& history, const std::string& part);

}  // namespace nvs::sim
