// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/host_spare.h"

namespace nvs::interposer::vmm {

bool drop_places(RegionTable& regions, HostRoom& room, int device) {
  bool has_dropped = false;
  for (Region* region = regions.newest(device); region != nullptr; region = region->older()) {
    if (placed_of(region->sums()) == 0) continue;
    for (std::uint32_t i = 0; i < region->split().chunks; ++i) {
      const Outcome outcome = regions.apply(region, i, {.event = ChunkEvent::host_dropped});
      if (!outcome.place.is_some()) continue;
      room.give(outcome.place);
      has_dropped = true;
    }
  }
  return has_dropped;
}

}  // namespace nvs::interposer::vmm
