// SPDX-License-Identifier: Apache-2.0
#include "core/readiness.h"

#include "core/choice.h"

namespace nvs::core {
namespace {

void tell(Node& node, const Seat& seat, Duration in) {
  for (const Gate* gate : seat.gates) {
    if (gate->state == GateState::closed && gate->wants) {
      node.emit(GetReady{gate->client, seat.gpu->id, in});
    }
  }
}

bool works_briefly(const Seat& seat) {
  return seat.mean_burst > Duration{} && seat.mean_burst <= kShortBurst;
}

}  // namespace

void tell_next(Node& node, const Gate& closing, Duration in) {
  const Gpu& gpu = *closing.seat->gpu;
  const Seat* next = gpu.promised;
  if (gpu.reserved != nullptr) next = gpu.reserved->seats[index_of(gpu.id)].get();
  if (next == nullptr) return;
  const bool returns = gpu.line.size() == 1 && works_briefly(*next);
  if (returns) node.emit(GetReady{closing.client, gpu.id, in + next->mean_burst});
  tell(node, *next, in);
}

void tell_return(Node& node, const Seat& seat, Duration in) { tell(node, seat, in); }

void tell_first_in_line(Node& node, const Seat& holder) {
  const auto left = holder.burst_left(node.now);
  if (!left || *left > kShortBurst) return;
  const Gpu& gpu = *holder.gpu;
  for (const Priority priority : order_of_classes(gpu)) {
    if (const LineKey* first = gpu.line.first(priority)) return tell(node, *first->seat, *left);
  }
}

}  // namespace nvs::core
