// SPDX-License-Identifier: Apache-2.0
// The real core with everything that watches it: the ledger, the checkers and the trace. One
// lifetime of a daemon.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checker.h"
#include "core/scheduler.h"
#include "ledger.h"
#include "trace.h"

namespace nvs::sim {

class CoreRun {
 public:
  CoreRun(Checkers checkers, Trace& trace) : checkers_(std::move(checkers)), trace_(trace) {}

  // The effects stay valid until the next step.
  const std::vector<core::Effect>& step(Instant now, const core::Event& event);
  // The run is over; everyone is still here.
  void look_back();
  // Everyone has left: the last word of the checkers.
  void end();

  std::optional<Instant> next_deadline() const { return core_.next_deadline(); }
  core::NodeView view() const { return core_.view(ledger_.now()); }
  const Ledger& ledger() const { return ledger_; }
  void excuse(Duration span) { ledger_.excuse(span); }
  // The first broken promise.
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  void collect();

  core::Scheduler core_;
  Ledger ledger_;
  Checkers checkers_;
  Trace& trace_;
  std::vector<core::Effect> effects_;
  std::optional<std::string> failure_;
};

}  // namespace nvs::sim
