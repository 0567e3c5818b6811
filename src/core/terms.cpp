// SPDX-License-Identifier: Apache-2.0
#include "core/terms.h"

namespace nvs::core {

WindowTerms terms_for(const Gpu& gpu, const Seat& holder, Instant now) {
  if (!gpu.has_windows()) return {};
  const bool others = gpu.present > (holder.present ? 1U : 0U);
  const bool swapped = gpu.memory.waiting > (holder.memory.waits ? 1U : 0U);
  // Who waits for memory could not use a window that is given up: it is enough to hear when the
  // holder has nothing to do.
  return {others || swapped || gpu.presence.until(now), !gpu.line.empty()};
}

void refresh_terms(Node& node, Seat& seat) {
  const WindowTerms terms = terms_for(*seat.gpu, seat, node.now);
  if (terms == seat.terms) return;
  seat.terms = terms;
  for (const Gate* gate : seat.gates) {
    if (gate->state != GateState::open) continue;
    node.emit(ChangeTerms{gate->client, seat.gpu->id, gate->grant, terms});
  }
}

}  // namespace nvs::core
