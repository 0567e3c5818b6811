// SPDX-License-Identifier: Apache-2.0
// The case `streams`: a program that computes on one stream and copies on another, as loaders of
// data and servers that offload do, beside a neighbour that sleeps nearly all the time. What bounds
// its queues for the neighbour's sake must not let one stream wait for the other.
#pragma once

#include "bench/case.h"
#include "bench/cases/sharing_part.h"

namespace nvs::bench {

class StreamsCase : public Case {
 public:
  std::string name() const override { return "streams"; }
  std::string summary() const override {
    return "kernels and copies on two streams of a program, beside a neighbour that sleeps";
  }
  double time_factor() const override { return kSharingTimeFactor; }
  void run(const Bench& bench) const override;
};

}  // namespace nvs::bench
