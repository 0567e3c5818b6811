// SPDX-License-Identifier: Apache-2.0
// Carrying managed memory to a GPU or home, in the order of a stream.
#pragma once

#include "cuda_sim/engine/op.h"
#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

class PrefetchOp final : public Op {
 public:
  /// `target`: a GPU of the machine, or kOnHost.
  PrefetchOp(Driver& driver, Range range, int target)
      : Op(target == kOnHost ? Lane::copy_out : Lane::copy_in),
        driver_(driver),
        range_(range),
        target_(target) {}

  // Only what is not there yet is carried, and that is known when the stream gets here.
  bool resolve() override {
    moved_ = prefetch_managed(driver_, range_.begin, range_.size, target_);
    return true;
  }
  std::uint64_t bytes() const override { return moved_.bytes; }
  double rate_limit() const override {
    const double nominal = static_cast<double>(moved_.bytes) * driver_.machine->scale();
    return moved_.model_ns > 0 ? nominal / moved_.model_ns : 0;
  }
  const char* name() const override { return "a prefetch"; }

 private:
  Driver& driver_;
  const Range range_;
  const int target_;
  Prefetch moved_;
};

}  // namespace nvs::sim
