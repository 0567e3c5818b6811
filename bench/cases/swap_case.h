// SPDX-License-Identifier: Apache-2.0
// The case `swap`: what an exchange of two tenants' memory costs. How fast bytes move while nobody
// runs, what of memory that is only read is copied again, and what a third tenant that stays in
// memory notices of it.
#pragma once

#include "bench/case.h"
#include "bench/cases/memory_part.h"

namespace nvs::bench {

class SwapCase : public Case {
 public:
  std::string name() const override { return "swap"; }
  std::string summary() const override {
    return "12 GiB exchanged for 12 GiB on 16 GiB: GB/s, copies of clean memory, latency beside it";
  }
  double time_factor() const override { return kMemoryTimeFactor; }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
