// SPDX-License-Identifier: Apache-2.0
// The case `idle`: three tenants that use the GPU a tenth of the time, in bursts, as notebooks and
// data-bound jobs do. Together they should hardly notice each other.
#pragma once

#include "bench/case.h"
#include "bench/cases/sharing_part.h"

namespace nvs::bench {

class IdleCase : public Case {
 public:
  std::string name() const override { return "idle"; }
  std::string summary() const override {
    return "three tenants that are busy a tenth of the time, against one alone";
  }
  double time_factor() const override { return kSharingTimeFactor; }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
