// SPDX-License-Identifier: Apache-2.0
// Calls of one kind are taken to need about the same time on the GPU.
#include <gtest/gtest.h>

#include "interposer/gate/gated_call.h"

namespace nvs::interposer {
namespace {

int things[2] = {};
CUfunction function(int number) { return reinterpret_cast<CUfunction>(&things[number]); }

template <Row row, class... Arguments>
std::uint64_t kind_of(Arguments... arguments) {
  gate::Call call{0, nullptr, false, false, 0, true};
  CallStream<row>::find_all(call, arguments...);
  return call.kind;
}

std::uint64_t kind_of_launch(CUfunction what, unsigned x, unsigned y = 1, unsigned z = 1,
                             unsigned threads = 256) {
  return kind_of<Row::cuLaunchKernel>(what, x, y, z, threads, 1U, 1U, 0U, CUstream{nullptr},
                                      static_cast<void**>(nullptr), static_cast<void**>(nullptr));
}

std::uint64_t launch_by_config(CUfunction what, unsigned x) {
  CUlaunchConfig config{};
  config.gridDimX = x;
  config.gridDimY = config.gridDimZ = 1;
  return kind_of<Row::cuLaunchKernelEx>(static_cast<const CUlaunchConfig*>(&config), what,
                                        static_cast<void**>(nullptr), static_cast<void**>(nullptr));
}

std::uint64_t launch_on_several(CUfunction what, unsigned x) {
  CUDA_LAUNCH_PARAMS launches[2] = {};
  launches[0].function = what;
  launches[0].gridDimX = x;
  launches[0].gridDimY = launches[0].gridDimZ = 1;
  return kind_of<Row::cuLaunchCooperativeKernelMultiDevice>(&launches[0], 2U, 0U);
}

TEST(CallKind, OneFunctionWithFewAndWithManyBlocksIsOfTwoKinds) {
  EXPECT_NE(kind_of_launch(function(0), 10), kind_of_launch(function(0), 10'000));
  EXPECT_NE(kind_of_launch(function(0), 10), kind_of_launch(function(0), 10, 100, 10));
  EXPECT_NE(launch_by_config(function(0), 10), launch_by_config(function(0), 10'000));
  EXPECT_NE(launch_on_several(function(0), 10), launch_on_several(function(0), 10'000));
}

TEST(CallKind, AboutAsManyBlocksAreOne) {
  EXPECT_EQ(kind_of_launch(function(0), 1000), kind_of_launch(function(0), 1001));
  EXPECT_EQ(kind_of_launch(function(0), 1000), kind_of_launch(function(0), 10, 10, 10));
  EXPECT_EQ(launch_by_config(function(0), 1000), launch_by_config(function(0), 1001));
}

TEST(CallKind, FunctionsAreToldApart) {
  EXPECT_NE(kind_of_launch(function(0), 10), kind_of_launch(function(1), 10));
  EXPECT_NE(launch_by_config(function(0), 10), launch_by_config(function(1), 10));
  EXPECT_NE(launch_on_several(function(0), 10), launch_on_several(function(1), 10));
}

// More than there are numbers for, in each direction; the driver refuses that.
TEST(CallKind, NoGridIsTooLarge) {
  EXPECT_NE(kind_of_launch(function(0), ~0U, ~0U, ~0U), kind_of_launch(function(0), 1));
}

}  // namespace
}  // namespace nvs::interposer
