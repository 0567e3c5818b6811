// SPDX-License-Identifier: Apache-2.0
// A copy of any shape between host and device memory, and the classification of its two ends.
#pragma once

#include <optional>

#include "cuda_sim/engine/op.h"
#include "cuda_sim/objects/driver.h"
#include "cuda_sim/work/extent.h"

namespace nvs::sim {

enum class CopyEnd { device, pinned, pageable };

/// One end of a copy, as rows of bytes.
struct CopySide {
  CopyEnd end = CopyEnd::pageable;
  std::uint64_t base = 0;  // address of the first byte copied
  std::uint64_t row_stride = 0;
  std::uint64_t plane_stride = 0;
  unsigned gpu = 0;  // for device memory

  std::uint64_t row(std::uint64_t index, std::uint64_t height) const {
    return index % height * row_stride + index / height * plane_stride;
  }
};

struct CopyPlan {
  CopySide src;
  CopySide dst;
  std::uint64_t width = 0;
  std::uint64_t height = 1;
  std::uint64_t depth = 1;

  std::uint64_t bytes() const { return product(product(width, height), depth); }
  /// From the first byte copied to the last.
  std::uint64_t extent(const CopySide& side) const {
    if (bytes() == 0) return 0;
    const std::uint64_t rows = product(height - 1, side.row_stride);
    return sum(sum(rows, product(depth - 1, side.plane_stride)), width);
  }
};

/// Checks a copy as the driver does when it is asked for, and finds out what its ends are. Managed
/// memory counts as memory of `gpu`, which makes the copy.
CUresult plan_copy(Driver& driver, unsigned gpu, const CUDA_MEMCPY3D& geometry, CopyPlan& plan);

class CopyOp final : public Op {
 public:
  CopyOp(Driver& driver, CopyPlan plan, std::shared_ptr<std::vector<std::byte>> staged);

  bool resolve() override;
  void perform(std::uint64_t offset, std::uint64_t bytes) override;
  void let_go() override;
  Nanos duration() const override;
  Nanos stall() const override { return stall_; }
  std::uint64_t bytes() const override { return plan_.bytes(); }
  double rate_limit() const override;
  std::vector<Range> touches() const override;
  const char* name() const override { return "a copy"; }

 private:
  std::optional<View> view_of(const CopySide& side, Access need);
  Nanos wait_for(const CopySide& side, Access need);

  Driver& driver_;
  const CopyPlan plan_;
  const std::shared_ptr<std::vector<std::byte>> staged_;
  View src_;
  View dst_;
  Nanos stall_ = 0;
};

/// The lane a copy takes.
Lane lane_of(const CopyPlan& plan);

}  // namespace nvs::sim
