// SPDX-License-Identifier: Apache-2.0
// A launch of a built-in kernel.
#pragma once

#include "cuda_sim/engine/op.h"
#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

class KernelOp final : public Op {
 public:
  KernelOp(Driver& driver, Context& context, KernelWork work);

  bool resolve() override;
  void perform(std::uint64_t offset, std::uint64_t bytes) override;
  void let_go() override { views_.clear(); }
  Nanos duration() const override { return duration_; }
  Nanos stall() const override { return stall_; }
  bool is_light() const override;
  std::vector<Range> touches() const override;
  const char* name() const override { return work_.function->builtin->name(); }
  bool hangs() const override;

 private:
  Driver& driver_;
  Context& context_;
  const KernelWork work_;
  std::vector<KernelTouch> memory_;
  std::vector<View> views_;
  Nanos duration_ = 0;
  Nanos stall_ = 0;
  bool hangs_ = false;
  bool faults_ = false;
};

}  // namespace nvs::sim
