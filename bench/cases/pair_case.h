// SPDX-License-Identifier: Apache-2.0
// The cases `pair` and, with PyTorch, `pair-python`: two and four tenants that all
// saturate the GPU and fit into its memory. How much of the work of one alone they get done
// together, and how evenly, in the daemon's windows and under the driver's own slicing.
#pragma once

#include "bench/case.h"
#include "bench/cases/sharing_part.h"

namespace nvs::bench {

class PairCase : public Case {
 public:
  std::string name() const override { return "pair"; }
  std::string summary() const override {
    return "2 and 4 saturating tenants under the daemon: total work and shares";
  }
  double time_factor() const override { return kSharingTimeFactor; }
  void run(const Bench& bench) const override;
};

class PairPythonCase : public Case {
 public:
  std::string name() const override { return "pair-python"; }
  std::string summary() const override {
    return "the same with PyTorch's matmul and add (needs --python)";
  }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
