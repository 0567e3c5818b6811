// SPDX-License-Identifier: Apache-2.0
// The case `driver`: what the driver itself does, with nothing of nvshare in between. On the
// simulator it shows that the model tells the truth of FACTS.md; on a GPU it shows that FACTS.md
// still does.
#pragma once

#include "bench/case.h"

namespace nvs::bench {

class DriverCase : public Case {
 public:
  std::string name() const override { return "driver"; }
  std::string summary() const override {
    return "the driver alone: copies, VMM, call costs, time-slicing waste, latency";
  }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
