// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/config/settings.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace nvs::sim {
namespace {

class SettingsTest : public testing::Test {
 protected:
  SettingsTest() { clear(); }
  ~SettingsTest() override { clear(); }

  static void clear() {
#define NVS_SIM_SETTING(variable, type, fallback, help) ::unsetenv(#variable);
#include "spec/sim_settings.def"
#undef NVS_SIM_SETTING
  }

  static std::string error_with(const char* variable, const std::string& value) {
    clear();
    ::setenv(variable, value.c_str(), 1);
    const auto settings = read_settings();
    return settings ? "" : settings.error();
  }
};

TEST_F(SettingsTest, DefaultsAreThoseOfTheTable) {
  const auto settings = read_settings();
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->NVSHARE_SIM_MACHINE, "default");
  EXPECT_EQ(settings->NVSHARE_SIM_PRESET, "h200");
  EXPECT_EQ(settings->NVSHARE_SIM_GPUS, 1U);
  EXPECT_EQ(settings->NVSHARE_SIM_SCALE, 64U);
  EXPECT_EQ(settings->NVSHARE_SIM_TIME, 1);
  EXPECT_EQ(settings->NVSHARE_SIM_FAIL, "");
}

TEST_F(SettingsTest, EachVariableIsRead) {
  ::setenv("NVSHARE_SIM_MACHINE", "a-b_c.9", 1);
  ::setenv("NVSHARE_SIM_PRESET", "t4", 1);
  ::setenv("NVSHARE_SIM_GPUS", "16", 1);
  ::setenv("NVSHARE_SIM_SCALE", "512", 1);
  ::setenv("NVSHARE_SIM_TIME", "0.25", 1);
  ::setenv("NVSHARE_SIM_FAIL", "cuInit:0:1:2", 1);
  ::setenv("NVSHARE_SIM_HANG_KERNEL", "nvs_fill", 1);
  ::setenv("NVSHARE_SIM_FAULT_KERNEL", "nvs_step", 1);
  const auto settings = read_settings();
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->NVSHARE_SIM_MACHINE, "a-b_c.9");
  EXPECT_EQ(settings->NVSHARE_SIM_PRESET, "t4");
  EXPECT_EQ(settings->NVSHARE_SIM_GPUS, 16U);
  EXPECT_EQ(settings->NVSHARE_SIM_SCALE, 512U);
  EXPECT_EQ(settings->NVSHARE_SIM_TIME, 0.25);
  EXPECT_EQ(settings->NVSHARE_SIM_FAIL, "cuInit:0:1:2");
  EXPECT_EQ(settings->NVSHARE_SIM_HANG_KERNEL, "nvs_fill");
  EXPECT_EQ(settings->NVSHARE_SIM_FAULT_KERNEL, "nvs_step");
}

TEST_F(SettingsTest, ErrorsNameVariableValueAndRule) {
  EXPECT_EQ(error_with("NVSHARE_SIM_GPUS", "zero"),
            "NVSHARE_SIM_GPUS=zero: must be a whole number of at least 1");
  EXPECT_EQ(error_with("NVSHARE_SIM_GPUS", "17"), "NVSHARE_SIM_GPUS=17: must be at most 16");
  EXPECT_EQ(error_with("NVSHARE_SIM_PRESET", "H200"),
            "NVSHARE_SIM_PRESET=H200: must be h200 or t4");
  EXPECT_EQ(error_with("NVSHARE_SIM_SCALE", "48"),
            "NVSHARE_SIM_SCALE=48: must be a power of two up to 512");
  EXPECT_EQ(error_with("NVSHARE_SIM_TIME", "fast"),
            "NVSHARE_SIM_TIME=fast: must be a positive number, such as 1 or 2.5");
}

TEST_F(SettingsTest, NumbersThatAreNone) {
  for (const char* value : {"", "0", "-1", "1.5", "2x", "x2", "99999999999999999999", "0x2"}) {
    EXPECT_NE(error_with("NVSHARE_SIM_GPUS", value), "") << value;
    EXPECT_NE(error_with("NVSHARE_SIM_SCALE", value), "") << value;
  }
  for (const char* value : {"", "0", "-0.5", "nan", "inf", "1e9", "1 s", "one"}) {
    EXPECT_NE(error_with("NVSHARE_SIM_TIME", value), "") << value;
  }
}

TEST_F(SettingsTest, MachineNamesStayInsideTheirFolder) {
  EXPECT_EQ(error_with("NVSHARE_SIM_MACHINE", std::string(100, 'm')), "");
  EXPECT_NE(error_with("NVSHARE_SIM_MACHINE", std::string(101, 'm')), "");
  for (const char* value : {"", "a/b", "../x", "a b", "a\nb", "\xc3\xa4"}) {
    EXPECT_NE(error_with("NVSHARE_SIM_MACHINE", value), "") << value;
  }
}

}  // namespace
}  // namespace nvs::sim
