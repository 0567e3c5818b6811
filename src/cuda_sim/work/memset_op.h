// SPDX-License-Identifier: Apache-2.0
// Filling device memory with a value of 1, 2 or 4 bytes, in rows.
#pragma once

#include "cuda_sim/engine/op.h"
#include "cuda_sim/objects/driver.h"

namespace nvs::sim {

class MemsetOp final : public Op {
 public:
  MemsetOp(Driver& driver, unsigned gpu, MemsetWork work)
      : Op(Lane::compute), driver_(driver), gpu_(gpu), work_(work) {}

  bool resolve() override;
  void perform(std::uint64_t offset, std::uint64_t bytes) override;
  void let_go() override { view_ = {}; }
  Nanos duration() const override;
  Nanos stall() const override { return stall_; }
  bool is_light() const override {
    return extent() <= 64 << 10 && !touches_managed(driver_, work_.dst, extent());
  }
  std::vector<Range> touches() const override { return {{work_.dst, extent()}}; }
  const char* name() const override { return "a memset"; }

 private:
  std::uint64_t row_bytes() const { return work_.width * work_.element_size; }
  std::uint64_t extent() const;

  Driver& driver_;
  const unsigned gpu_;
  const MemsetWork work_;
  View view_;
  Nanos stall_ = 0;
};

/// From the first to the last byte that a memset writes.
std::uint64_t memset_extent(const MemsetWork& work);

}  // namespace nvs::sim
