// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/config/model.h"

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

TEST(Model, PresetsAreFoundByTheirExactName) {
  for (const char* preset : {"h200", "t4"}) {
    const Model* model = find_model(preset);
    ASSERT_NE(model, nullptr) << preset;
    EXPECT_EQ(model->preset, preset);
  }
  for (const char* name : {"", "H200", "h20", "h2000", "t4 "}) {
    EXPECT_EQ(find_model(name), nullptr) << name;
  }
}

// A rate of zero would divide by it, a slice shorter than its switch would compute nothing.
TEST(Model, FiguresMakeSense) {
  for (const char* preset : {"h200", "t4"}) {
    const Model& model = *find_model(preset);
    EXPECT_GT(model.memory_bytes, 8 * model.context_bytes) << preset;
    EXPECT_GT(model.context_bytes, 0U) << preset;
    EXPECT_GT(model.multiprocessors, 0) << preset;
    EXPECT_GT(model.kernel_bytes_per_ns, model.copy_bytes_per_ns) << preset;
    EXPECT_GE(model.copy_bytes_per_ns, model.duplex_bytes_per_ns) << preset;
    EXPECT_GT(2 * model.duplex_bytes_per_ns, model.copy_bytes_per_ns) << preset;
    EXPECT_GT(model.copy_bytes_per_ns, model.pageable_in_bytes_per_ns) << preset;
    EXPECT_GT(model.pageable_in_bytes_per_ns, 0) << preset;
    EXPECT_GT(model.pageable_out_bytes_per_ns, 0) << preset;
    EXPECT_GT(model.copy_bytes_per_ns, model.managed_prefetch_bytes_per_ns) << preset;
    EXPECT_GT(model.managed_prefetch_bytes_per_ns, model.managed_fault_bytes_per_ns) << preset;
    EXPECT_GT(model.managed_fault_bytes_per_ns, 0) << preset;
    EXPECT_GT(model.managed_out_bytes_per_ns, 0) << preset;
    EXPECT_GT(model.flops_per_ns, 0) << preset;
    EXPECT_GT(model.slice_ns, model.switch_ns) << preset;
    EXPECT_GT(model.switch_ns, 0) << preset;
    EXPECT_GT(model.kernel_floor_ns, 0) << preset;
    EXPECT_GT(model.launch_ns, 0) << preset;
  }
}

// Four tasks of 12 GB on a T4 take 13 to 35 s for what takes one of them 0.04 s alone: each time,
// all that a task touches comes in and as much of the others' goes out.
TEST(Model, ManagedMemoryThatDoesNotFitThrashesAsWasSeen) {
  const Model& model = *find_model("t4");
  constexpr double kBytes = 12e9;
  EXPECT_GT(4 * kBytes, static_cast<double>(model.memory_bytes));
  EXPECT_NEAR(kBytes / model.kernel_bytes_per_ns, 0.04e9, 0.001e9);
  const double one =
      kBytes / model.managed_fault_bytes_per_ns + kBytes / model.managed_out_bytes_per_ns;
  EXPECT_GT(4 * one, 13e9);
  EXPECT_LT(4 * one, 35e9);
}

// The driver's slicing wastes 8 to 9 % on the card that was measured.
TEST(Model, SlicingWastesWhatWasMeasured) {
  const Model& model = *find_model("h200");
  const double slice = static_cast<double>(model.slice_ns);
  const double useful = slice / (slice + static_cast<double>(model.switch_ns));
  EXPECT_GT(useful, 0.91);
  EXPECT_LT(useful, 0.93);
}

}  // namespace
}  // namespace nvs::sim
