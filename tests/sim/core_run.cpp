// SPDX-License-Identifier: Apache-2.0
#include "core_run.h"

namespace nvs::sim {

const std::vector<core::Effect>& CoreRun::step(Instant now, const core::Event& event) {
  trace_.note(now, event);
  effects_.clear();
  core_.step(now, event, effects_);
  ledger_.apply(now, event);
  for (const auto& checker : checkers_) checker->on_event(ledger_, event);
  for (const core::Effect& effect : effects_) {
    trace_.note(now, effect);
    for (const auto& checker : checkers_) checker->on_effect(ledger_, effect);
    ledger_.apply(now, effect);
  }
  const std::optional<Instant> deadline = core_.next_deadline();
  for (const auto& checker : checkers_) checker->on_settled(ledger_, deadline);
  collect();
  return effects_;
}

void CoreRun::look_back() {
  const core::NodeView last = view();
  for (const auto& checker : checkers_) checker->on_last_look(ledger_, last);
  collect();
}

void CoreRun::end() {
  const core::NodeView view = core_.view(ledger_.now());
  for (const auto& checker : checkers_) checker->on_end(ledger_, view);
  collect();
}

void CoreRun::collect() {
  if (failure_) return;
  for (const auto& checker : checkers_) {
    if (checker->complaint()) {
      failure_ = std::string(checker->name()) + ": " + *checker->complaint();
      return;
    }
  }
}

}  // namespace nvs::sim
