// SPDX-License-Identifier: Apache-2.0
// The case `oversub`: two and four tenants that each need three quarters of the GPU's memory and
// change all of it all the time. How much longer they take together than one after the other, how
// long one of them waits, and, on the simulator, what Unified Memory makes of the same tenants.
#pragma once

#include "bench/case.h"

namespace nvs::bench {

class OversubCase : public Case {
 public:
  std::string name() const override { return "oversub"; }
  std::string summary() const override {
    return "2 and 4 tenants of 12 GiB on 16 GiB: makespan, longest wait, bytes moved";
  }
  // A card that is too small for two of the tenants, whoever looks at it.
  std::string preset() const override { return "t4"; }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
