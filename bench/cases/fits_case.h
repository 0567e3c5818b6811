// SPDX-License-Identifier: Apache-2.0
// The case `fits`: memory that fits does not move. Two tenants that fit together, and one of two
// that do not after the other one has ended.
#pragma once

#include "bench/case.h"
#include "bench/cases/memory_part.h"

namespace nvs::bench {

class FitsCase : public Case {
 public:
  std::string name() const override { return "fits"; }
  std::string summary() const override {
    return "what fits into memory is never moved, and one that is alone again is at full speed";
  }
  double time_factor() const override { return kMemoryTimeFactor; }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
