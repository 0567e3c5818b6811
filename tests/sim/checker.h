// SPDX-License-Identifier: Apache-2.0
// One promise of the core, watched over a whole run. A checker sees every event and effect and the
// ledger that they make up, and says once what is wrong.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler.h"
#include "ledger.h"

namespace nvs::sim {

class Checker {
 public:
  explicit Checker(const char* name) : name_(name) {}
  virtual ~Checker() = default;
  Checker(const Checker&) = delete;
  Checker& operator=(const Checker&) = delete;

  const char* name() const { return name_; }
  const std::optional<std::string>& complaint() const { return complaint_; }

  // The ledger has the event already.
  virtual void on_event(const Ledger&, const core::Event&) {}
  // The ledger does not have the effect yet.
  virtual void on_effect(const Ledger&, const core::Effect&) {}
  // All effects of the step are in the ledger.
  virtual void on_settled(const Ledger&, const std::optional<Instant>& /*next_deadline*/) {}
  // The run is over, and everyone is still here.
  virtual void on_last_look(const Ledger&, const core::NodeView&) {}
  // Everyone has left.
  virtual void on_end(const Ledger&, const core::NodeView&) {}

 protected:
  // The first complaint stays: what follows from it says less.
  void complain(std::string text) {
    if (!complaint_) complaint_ = std::move(text);
  }

 private:
  const char* name_;
  std::optional<std::string> complaint_;
};

using Checkers = std::vector<std::unique_ptr<Checker>>;

}  // namespace nvs::sim
