// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <thread>

#include "cuda_sim/nvml/test_library.h"
#include "cuda_sim/nvml/test_process.h"

namespace nvs::nvml {
namespace {

class ConditionTest : public NvmlTest {
 protected:
  struct Condition {
    unsigned power = 0;
    unsigned celsius = 0;
    unsigned mhz = 0;
    unsigned long long reasons = 0;
    nvmlPstates_t state = NVML_PSTATE_UNKNOWN;
  };

  Condition condition() {
    Condition now;
    EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(device(), &now.power), NVML_SUCCESS);
    EXPECT_EQ(nvml.nvmlDeviceGetTemperature(device(), NVML_TEMPERATURE_GPU, &now.celsius),
              NVML_SUCCESS);
    EXPECT_EQ(nvml.nvmlDeviceGetClockInfo(device(), NVML_CLOCK_SM, &now.mhz), NVML_SUCCESS);
    EXPECT_EQ(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(device(), &now.reasons), NVML_SUCCESS);
    EXPECT_EQ(nvml.nvmlDeviceGetPerformanceState(device(), &now.state), NVML_SUCCESS);
    return now;
  }
};

TEST_F(ConditionTest, FollowsTheWork) {
  start("t4");
  const Condition idle = condition();
  EXPECT_EQ(idle.power, 10000U);
  EXPECT_EQ(idle.mhz, 300U);
  EXPECT_EQ(idle.state, NVML_PSTATE_8);
  EXPECT_EQ(idle.reasons, static_cast<unsigned long long>(nvmlClocksEventReasonGpuIdle));
  const TestProcess tenant{{.busy_percent = 80}};
  Condition busy;
  // Each is asked for itself, and the tenant may have stood still in between.
  EXPECT_TRUE(eventually([&] {
    busy = condition();
    return busy.power > 2 * idle.power && busy.celsius > idle.celsius && busy.mhz > idle.mhz &&
           busy.state != idle.state && busy.reasons != idle.reasons;
  })) << busy.power;
  EXPECT_LE(busy.power, 70000U);
  EXPECT_EQ(busy.mhz, 1590U);
  EXPECT_EQ(busy.state, NVML_PSTATE_0);
  EXPECT_EQ(busy.reasons, static_cast<unsigned long long>(nvmlClocksEventReasonNone));
}

TEST_F(ConditionTest, EnergyGrows) {
  start();
  unsigned long long before = 0;
  unsigned long long after = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetTotalEnergyConsumption(device(), &before), NVML_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds{100});
  EXPECT_EQ(nvml.nvmlDeviceGetTotalEnergyConsumption(device(), &after), NVML_SUCCESS);
  EXPECT_GE(after - before, 8000U) << "80 W for a tenth of a second";
}

TEST_F(ConditionTest, LimitsAreThoseOfTheCard) {
  start();
  unsigned value = 0;
  unsigned other = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetPowerManagementLimit(device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 700000U);
  EXPECT_EQ(nvml.nvmlDeviceGetEnforcedPowerLimit(device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 700000U);
  EXPECT_EQ(nvml.nvmlDeviceGetPowerManagementLimitConstraints(device(), &value, &other),
            NVML_SUCCESS);
  EXPECT_EQ(value, 200000U);
  EXPECT_EQ(other, 700000U);
  const auto threshold = [&](nvmlTemperatureThresholds_t type) {
    return nvml.nvmlDeviceGetTemperatureThreshold(device(), type, &value);
  };
  EXPECT_EQ(threshold(NVML_TEMPERATURE_THRESHOLD_SLOWDOWN), NVML_SUCCESS);
  EXPECT_EQ(value, 89U);
  EXPECT_EQ(threshold(NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MIN), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(threshold(NVML_TEMPERATURE_THRESHOLD_COUNT), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetTemperature(device(), NVML_TEMPERATURE_COUNT, &value),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetFanSpeed(device(), &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceGetNumFans(device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 0U);
}

TEST_F(ConditionTest, ClocksComeByTypeAndId) {
  start();
  const auto clock = [&](nvmlClockType_t type, nvmlClockId_t id, unsigned expected) {
    unsigned value = 0;
    EXPECT_EQ(nvml.nvmlDeviceGetClock(device(), type, id, &value), NVML_SUCCESS);
    EXPECT_EQ(value, expected);
  };
  clock(NVML_CLOCK_SM, NVML_CLOCK_ID_CURRENT, 345);
  clock(NVML_CLOCK_SM, NVML_CLOCK_ID_CUSTOMER_BOOST_MAX, 1980);
  clock(NVML_CLOCK_MEM, NVML_CLOCK_ID_APP_CLOCK_TARGET, 3201);
  unsigned value = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetMaxClockInfo(device(), NVML_CLOCK_VIDEO, &value), NVML_SUCCESS);
  EXPECT_EQ(value, 1545U);
  EXPECT_EQ(nvml.nvmlDeviceGetMaxClockInfo(device(), NVML_CLOCK_COUNT, &value),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(
      nvml.nvmlDeviceGetClock(device(), NVML_CLOCK_VIDEO, NVML_CLOCK_ID_APP_CLOCK_TARGET, &value),
      NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceGetClock(device(), NVML_CLOCK_SM, NVML_CLOCK_ID_COUNT, &value),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(ConditionTest, FieldsAnswerEachForItself) {
  start();
  std::array<nvmlFieldValue_t, 3> fields{};
  fields[0].fieldId = NVML_FI_DEV_POWER_INSTANT;
  fields[1].fieldId = NVML_FI_DEV_NVLINK_LINK_COUNT;
  fields[2].fieldId = NVML_FI_DEV_ECC_CURRENT;
  EXPECT_EQ(nvml.nvmlDeviceGetFieldValues(device(), 3, fields.data()), NVML_SUCCESS);
  EXPECT_EQ(fields[0].nvmlReturn, NVML_SUCCESS);
  EXPECT_EQ(fields[0].valueType, NVML_VALUE_TYPE_UNSIGNED_INT);
  EXPECT_EQ(fields[0].value.uiVal, 80000U);
  EXPECT_EQ(fields[1].nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(fields[2].value.ullVal, 1U);
  EXPECT_EQ(nvml.nvmlDeviceGetFieldValues(device(), 0, fields.data()), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetFieldValues(device(), 1, nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace nvs::nvml
