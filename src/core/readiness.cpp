// SPDX-License-Identifier: Apache-2.0
#include "core/readiness.h"

#include "core/choice.h"
#include "core/gangs.h"

namespace nvs::core {
namespace {

void tell(Node& node, const Seat& seat, Duration in) {
  for (const Gate* gate : seat.gates) {
    if (gate->state == GateState::closed && gate->wants) {
      node.emit(GetReady{gate->client, seat.gpu->id, in});
    }
  }
}

// So far, and as far as its burst now is one of the usual ones.
bool works_briefly(const Seat& seat) {
  const bool is_brief = seat.mean_burst > Duration{} && seat.mean_burst <= kShortBurst;
  return is_brief && seat.burst <= seat.longest_burst();
}

// Its work waits for nothing that the tenant has elsewhere, or in another process.
bool works_here_alone(const Seat& seat, Instant now) {
  return seat.gates.size() == 1 && !seat.in_gang && !is_gang(*seat.tenant, now);
}

}  // namespace

void tell_next(Node& node, const Gate& closing, Duration in) {
  const Gpu& gpu = *closing.seat->gpu;
  const Seat* next = gpu.promised;
  if (gpu.reserved != nullptr) next = gpu.reserved->seats[index_of(gpu.id)].get();
  if (next == nullptr) return;
  const bool follows = gpu.reserved == nullptr && gpu.line.size() == 1 && works_briefly(*next);
  const bool returns = follows && works_here_alone(*closing.seat, node.now);
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
