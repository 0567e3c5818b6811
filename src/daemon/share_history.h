// SPDX-License-Identifier: Apache-2.0
// How much of a GPU's time a tenant had lately, looked at once a second, for a minute. That is what
// it was billed, and where there are no windows its part of it, as the core counts it, but for two
// cases. One that is alone is asked nothing, and billed for as long as it has its window: there the
// GPU's own word counts if that is less. And where one runs beside another's window both are billed
// for the same time: what adds up to more than has passed is scaled down.
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
  // What the GPU says of the time since it was last asked; nothing: it does not.
  void note_busy(core::GpuId gpu, std::optional<double> part) { busy_[gpu] = part; }
  // Somebody came.
  void begin(Instant now) {
    if (!next_) next_ = now;
  }
  // Once a second; tenants that are not in the view any more are forgotten.
  void sample(Instant now, const core::NodeView& view);

  // Of the GPU's time in the last `span`, or for as long as it is known; `had` is what the view of
  // now says. Nothing if that is too short to tell.
  std::optional<double> share(core::TenantId tenant, core::GpuId gpu, Instant now, Duration had,
                              Duration span) const;
  std::size_t size() const { return pasts_.size(); }

 private:
  struct Had {
    Instant at;
    Duration got;  // all in all
  };
  struct Past {
    Ring<Had> ring{kShareSamples};
    Duration had;     // what the latest view said
    Duration more;    // of that since the one before
    double part = 1;  // and so much of it counted
    Instant seen;
  };
  // Of what everybody on a GPU has had since the last sample: how much counts?
  struct Together {
    Duration sum;
    int tenants = 0;      // that have had something
    bool capped = false;  // one of them has a cap
  };
  double part_of(const Together& all, core::GpuId gpu, Duration span) const;

  std::map<std::pair<core::TenantId, core::GpuId>, Past> pasts_;
  std::map<core::GpuId, std::optional<double>> busy_;
  std::optional<Instant> sampled_;
  std::optional<Instant> next_;
};

}  // namespace nvs::daemon
