// SPDX-License-Identifier: Apache-2.0
// The case `latency`: small requests that arrive when they like, beside a tenant that saturates the
// GPU with longer kernels. What counts is the time from a request's arrival to its answer, and what
// it costs the other tenant.
#pragma once

#include "bench/case.h"
#include "bench/cases/sharing_part.h"

namespace nvs::bench {

// A hundred requests a second that spin before they arrive, and as many handovers: two processors
// that others use too are late by more than a hundredth of a kernel at anything less.
inline constexpr double kLatencyTimeFactor = 12;

class LatencyCase : public Case {
 public:
  std::string name() const override { return "latency"; }
  std::string summary() const override {
    return "100 small requests a second beside a saturating tenant: how long they wait";
  }
  double time_factor() const override { return kLatencyTimeFactor; }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
