// SPDX-License-Identifier: Apache-2.0
// Who runs on which GPU of the node, and until when: the whole product's decisions as one state
// machine. It does no input or output, reads no clock, starts no thread and takes no lock; the
// daemon and the simulator run the same code.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/instant.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/view.h"

namespace nvs::core {

class Scheduler {
 public:
  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // `now` never goes back; if it does, it is taken to stand still. Effects are appended.
  void step(Instant now, const Event& event, std::vector<Effect>& effects);

  // When to step with Tick if nothing else happens before.
  std::optional<Instant> next_deadline() const;

  // What a tenant with a cap has saved of a GPU's time, or owes (negative): what CreditSet takes if
  // it comes back. Nothing if it has no cap or has not used the GPU.
  std::optional<Duration> credit(TenantId tenant, GpuId gpu, Instant now) const;

  // Who is on a GPU, as tenants: what a step about its memory costs grows with them.
  std::uint32_t tenants_on(GpuId gpu) const;

  // The state as people want to see it; costs as much as there are tenants.
  NodeView view(Instant now) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nvs::core
