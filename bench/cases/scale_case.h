// SPDX-License-Identifier: Apache-2.0
// The case `scale`: a node with far more tenants than anybody has. What one step of the core costs
// and how much memory, and how much of a processor the daemon takes. No GPU is used.
#pragma once

#include "bench/case.h"

namespace nvs::bench {

class ScaleCase : public Case {
 public:
  std::string name() const override { return "scale"; }
  std::string summary() const override {
    return "1000 tenants: time and memory of the core, processor time of the daemon";
  }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
