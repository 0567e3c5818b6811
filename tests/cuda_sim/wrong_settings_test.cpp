// SPDX-License-Identifier: Apache-2.0
// A wrong setting must be told in words and must leave nothing behind; and only the first process
// of a machine decides what it is.
#include <ostream>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

struct WrongSetting {
  const char* variable;
  std::string value;
  const char* rule;  // what the message must say
};

void PrintTo(const WrongSetting& wrong, std::ostream* out) {
  *out << wrong.variable << "=" << wrong.value;
}

class WrongSettings : public testing::TestWithParam<WrongSetting> {};

TEST_P(WrongSettings, AreToldInWordsAndLeaveNothing) {
  const WrongSetting& wrong = GetParam();
  SimMachine machine;
  const std::string errors =
      run_process(machine,
                  [](Line&) {
                    const Driver& driver = loaded_driver();
                    EXPECT_NE(driver.cuInit(0), CUDA_SUCCESS);
                    EXPECT_NE(driver.cuInit(0), CUDA_SUCCESS) << "the second time as well";
                    int count = 0;
                    EXPECT_EQ(driver.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
                  },
                  {{wrong.variable, wrong.value}});
  EXPECT_NE(errors.find(std::string(wrong.variable) + "=" + wrong.value + ": "), std::string::npos)
      << errors;
  EXPECT_NE(errors.find(wrong.rule), std::string::npos) << errors;
  EXPECT_FALSE(machine.segment_exists());
}

std::string test_name(const testing::TestParamInfo<WrongSetting>& info) {
  return std::string(info.param.variable) + "_" + std::to_string(info.index);
}

constexpr const char* kWhole = "must be a whole number of at least 1";
constexpr const char* kPositive = "must be a positive number";
constexpr const char* kName = "must be 1 to 100 letters";
constexpr const char* kCall = "must be FUNCTION[@THREAD]:AFTER:TIMES:RESULT";

INSTANTIATE_TEST_SUITE_P(
    Each, WrongSettings,
    testing::Values(WrongSetting{"NVSHARE_SIM_MACHINE", "", kName},
                    WrongSetting{"NVSHARE_SIM_MACHINE", "a/b", kName},
                    WrongSetting{"NVSHARE_SIM_MACHINE", std::string(101, 'x'), kName},
                    WrongSetting{"NVSHARE_SIM_WITHOUT", "gpus", "must be vmm, or empty"},
                    WrongSetting{"NVSHARE_SIM_PRESET", "", "must be h200 or t4"},
                    WrongSetting{"NVSHARE_SIM_PRESET", "h100", "must be h200 or t4"},
                    WrongSetting{"NVSHARE_SIM_GPUS", "", kWhole},
                    WrongSetting{"NVSHARE_SIM_GPUS", "0", kWhole},
                    WrongSetting{"NVSHARE_SIM_GPUS", "-1", kWhole},
                    WrongSetting{"NVSHARE_SIM_GPUS", "two", kWhole},
                    WrongSetting{"NVSHARE_SIM_GPUS", "1.5", kWhole},
                    WrongSetting{"NVSHARE_SIM_GPUS", "17", "must be at most 16"},
                    WrongSetting{"NVSHARE_SIM_SCALE", "0", kWhole},
                    WrongSetting{"NVSHARE_SIM_SCALE", "3", "must be a power of two up to 512"},
                    WrongSetting{"NVSHARE_SIM_SCALE", "1024", "must be a power of two up to 512"},
                    WrongSetting{"NVSHARE_SIM_TIME", "", kPositive},
                    WrongSetting{"NVSHARE_SIM_TIME", "0", kPositive},
                    WrongSetting{"NVSHARE_SIM_TIME", "-1", kPositive},
                    WrongSetting{"NVSHARE_SIM_TIME", "nan", kPositive},
                    WrongSetting{"NVSHARE_SIM_TIME", "inf", kPositive},
                    WrongSetting{"NVSHARE_SIM_TIME", "1s", kPositive},
                    WrongSetting{"NVSHARE_SIM_FAIL", "cuMemAlloc_v2", kCall},
                    WrongSetting{"NVSHARE_SIM_FAIL", "cuMemAlloc_v2:0:1", kCall},
                    WrongSetting{"NVSHARE_SIM_FAIL", "cuMemAlloc_v2:x:1:2", kCall},
                    WrongSetting{"NVSHARE_SIM_FAIL", "cuMemAlloc_v2:0:0:2", kCall},
                    WrongSetting{"NVSHARE_SIM_FAIL", "cuMemAlloc_v2:0:1:2,", kCall},
                    WrongSetting{"NVSHARE_SIM_FAIL", "cuMemAlloc:0:1:2,cuNoSuchCall:0:1:2", kCall},
                    WrongSetting{"NVSHARE_SIM_HANG_KERNEL", "nvs_no_such_kernel", "must be"},
                    WrongSetting{"NVSHARE_SIM_FAULT_KERNEL", "nvs_no_such_kernel", "must be"}),
    test_name);

TEST(Settings, FirstProcessDecidesAndOthersJoinTheMachineAsItIs) {
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}, {"NVSHARE_SIM_TIME", "0.5"}});
  SimProcess first(machine, [](Line& line) {
    initialised_driver();
    line.tell("there");
    line.expect("go");
  });
  first.line().expect("there");
  run_process(machine,
              [](Line&) {
                const Driver& driver = initialised_driver();
                EXPECT_EQ(driver.sim()->cusimScale(), 512U);
                EXPECT_EQ(driver.sim()->cusimTimeFactor(), 0.5);
                int count = 0;
                NVS_MUST(driver.cuDeviceGetCount(&count));
                EXPECT_EQ(count, 2);
                std::array<char, 64> name{};
                NVS_MUST(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()), 0));
                EXPECT_STREQ(name.data(), "Tesla T4");
              },
              {{"NVSHARE_SIM_GPUS", "1"},
               {"NVSHARE_SIM_TIME", "3"},
               {"NVSHARE_SIM_SCALE", "64"},
               {"NVSHARE_SIM_PRESET", "h200"}});
  first.line().tell("go");
  EXPECT_EQ(first.wait(), 0);
  run_process(
      machine,
      [](Line&) { EXPECT_EQ(initialised_driver().sim()->cusimScale(), 64U) << "a new machine"; },
      {{"NVSHARE_SIM_SCALE", "64"}});
}

TEST(Settings, MachinesWithOtherNamesAreOthers) {
  SimMachine machine;
  SimMachine other;
  SimProcess process(machine, [](Line& line) {
    const Gpu gpu;
    line.tell("there");
    line.expect("go");
  });
  process.line().expect("there");
  EXPECT_EQ(other.books(), Books{});
  EXPECT_EQ(machine.books().processes, 1U);
  process.line().tell("go");
  EXPECT_EQ(process.wait(), 0);
}

}  // namespace
}  // namespace nvs::sim_test
