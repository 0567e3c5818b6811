// SPDX-License-Identifier: Apache-2.0
// What goes wrong with tenants in their windows, for the log: one that does not answer, cannot
// drain, or does not move its memory. The status shows only what is so now; whoever asks in the
// morning why others waited at night looks into the log. A line for each change, not for each time
// that the core tries again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/instant.h"
#include "core/view.h"
#include "daemon/client_table.h"
#include "daemon/gpu_table.h"
#include "daemon/limits.h"

namespace nvs::daemon {

class Troubles {
 public:
  // Looking costs as much as there are tenants, and steps of the core are many.
  bool may_look(Instant now) const { return !looked_ || now - *looked_ >= kTroubleLook; }
  // Says what has changed since the last look.
  void look(Instant now, const core::NodeView& view, const ClientTable& clients,
            const GpuTable& gpus);

 private:
  enum Kind : std::uint8_t { silent, loose, stuck, kKinds };
  struct Trouble {
    bool is_on = false;
    bool is_said = false;              // that it is on
    std::uint64_t times = 0;           // since the last line
    std::optional<Instant> said = {};  // when that line was
    Instant since = {};
  };
  struct OnGpu {
    std::array<Trouble, kKinds> kinds;
    Instant seen;
  };
  using Place = std::pair<core::TenantId, core::GpuId>;

  static void update(Instant now, Kind kind, bool is_on, Trouble& trouble, const Tenant& tenant,
                     const Gpu& gpu);

  std::optional<Instant> looked_;
  std::map<Place, OnGpu> places_;
};

}  // namespace nvs::daemon
