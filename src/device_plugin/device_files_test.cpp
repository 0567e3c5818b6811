// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/device_files.h"

#include <gtest/gtest.h>

namespace nvs::plugin {
namespace {

constexpr std::string_view kMinors =
    "config 1\nmonitor 2\ngpu0/gi1/access 12\ngpu0/gi1/ci0/access 13\ngpu0/gi11/access 30\n"
    "gpu1/gi1/access 147\ngpu1/gi1/ci2/access 150\ngpu1/gi2/access x\ngpu1/gi2/ci0/access 9";

using Files = std::vector<std::string>;

Gpu instance(unsigned minor, unsigned gpu_instance, unsigned compute_instance) {
  Gpu gpu;
  gpu.is_mig = true;
  gpu.minor_number = minor;
  gpu.instance = InstanceIds{gpu_instance, compute_instance};
  return gpu;
}

TEST(DeviceFiles, OfAGpuIsTheOneWithItsNumber) {
  Gpu gpu;
  EXPECT_EQ(device_files_of(gpu, kMinors), Files{});
  gpu.minor_number = 7;
  EXPECT_EQ(device_files_of(gpu, ""), Files{"/dev/nvidia7"});
}

TEST(DeviceFiles, OfAnInstanceAreItsGpuAndTwoRights) {
  EXPECT_EQ(
      device_files_of(instance(0, 1, 0), kMinors),
      (Files{"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"}));
  EXPECT_EQ(
      device_files_of(instance(1, 1, 2), kMinors),
      (Files{"/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap147", "/dev/nvidia-caps/nvidia-cap150"}));
}

TEST(DeviceFiles, AnInstanceWithoutAllOfThemHasNone) {
  EXPECT_EQ(device_files_of(instance(0, 1, 0), ""), Files{});
  EXPECT_EQ(device_files_of(instance(0, 11, 0), kMinors), Files{});
  EXPECT_EQ(device_files_of(instance(1, 2, 0), kMinors), Files{});
  Gpu unknown = instance(0, 1, 0);
  unknown.instance.reset();
  EXPECT_EQ(device_files_of(unknown, kMinors), Files{});
}

}  // namespace
}  // namespace nvs::plugin
