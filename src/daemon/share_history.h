// SPDX-License-Identifier: Apache-2.0
// How much of a GPU's time a tenant had lately: its bill once a second, for a minute.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "base/instant.h"
#include "core/view.h"
#include "daemon/limits.h"
#include "daemon/ring.h"

namespace nvs::daemon {

class ShareHistory {
 public:
  // When sample() is to be called next; nothing while there is nobody.
  std::optional<Instant> next_deadline() const { return next_; }
  // Somebody came.
  void begin(Instant now) {
    if (!next_) next_ = now;
  }
  // Once a second; tenants that are not in the view any more are forgotten.
  void sample(Instant now, const core::NodeView& view);

  // Of the GPU's time in the last `span`, or for as long as it is known; `used` is its bill of now.
  // Nothing if that is too short to tell.
  std::optional<double> share(core::TenantId tenant, core::GpuId gpu, Instant now, Duration used,
                              Duration span) const;
  std::size_t size() const { return bills_.size(); }

 private:
  struct Bill {
    Instant at;
    Duration used;
  };
  struct Bills {
    Ring<Bill> ring{kShareSamples};
    Instant seen;
  };

  std::map<std::pair<core::TenantId, core::GpuId>, Bills> bills_;
  std::optional<Instant> next_;
};

}  // namespace nvs::daemon
