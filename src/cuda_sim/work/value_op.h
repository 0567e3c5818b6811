// SPDX-License-Identifier: Apache-2.0
// Writing values to memory in stream order, and waiting until memory holds one.
#pragma once

#include "cuda_sim/engine/op.h"
#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

class ValueOp final : public Op {
 public:
  ValueOp(Driver& driver, Context& context, ValueWork work)
      : Op(Lane::host), driver_(driver), context_(context), work_(std::move(work)) {}

  void perform(std::uint64_t offset, std::uint64_t bytes) override;
  std::vector<Range> touches() const override;
  const char* name() const override { return "a memory operation"; }

 private:
  bool finish_step(const ValueStep& step);

  Driver& driver_;
  Context& context_;
  const ValueWork work_;
};

}  // namespace nvs::sim
