// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "nvml/nvml.h"

namespace nvs {
namespace {

using Processes = std::vector<ProcessMemory>;

class NvmlProcesses : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string file = folder_.write("processes",
                                           "0 4321 600\n0 17 50\n1 17 9\n"
                                           "0 900 -1\n0 4000000000 18000000000\n");
    ::setenv("NVSHARE_FAKE_NVML_PROCESSES", file.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("NVSHARE_FAKE_NVML");
    ::unsetenv("NVSHARE_FAKE_NVML_PROCESSES");
  }

  static NvmlResult<Processes> list(const char* library, const char* words = "") {
    ::setenv("NVSHARE_FAKE_NVML", words, 1);
    const NvmlResult<Nvml> nvml = Nvml::open(library);
    if (!nvml) return tl::unexpected(nvml.error());
    return nvml->compute_processes(*nvml->gpu(0));
  }

  const Processes all_ = {{17, 50}, {900, {}}, {4321, 600}, {4'000'000'000, 18'000'000'000}};
  const TestFolder folder_;
};

TEST_F(NvmlProcesses, EveryVersionTellsWhoHasHowMuch) {
  EXPECT_EQ(list(NVS_FAKE_NVML_LIBRARY), all_);
  EXPECT_EQ(list(NVS_FAKE_NVML_LIBRARY, "no_v3"), all_);
  EXPECT_EQ(list(NVS_FAKE_NVML_LIBRARY, "no_v3,no_v2"), all_);
  EXPECT_EQ(list(NVS_FAKE_NVML_OLD_LIBRARY), all_);
}

TEST_F(NvmlProcesses, StructsThatAreLargerThanTheirVersionAreRead) {
  EXPECT_EQ(list(NVS_FAKE_NVML_LIBRARY, "large_structs"), all_);
  std::string lines;
  Processes many;
  for (unsigned pid = 1; pid <= 64; ++pid) {
    lines += "0 " + std::to_string(pid) + " " + std::to_string(pid * 10) + "\n";
    many.push_back({pid, pid * 10});
  }
  folder_.write("processes", lines);
  EXPECT_EQ(list(NVS_FAKE_NVML_LIBRARY, "large_structs"), many) << "as many as there is room for";
}

TEST_F(NvmlProcesses, MoreThanThereIsRoomForAreAskedForAgain) {
  std::string lines;
  for (unsigned pid = 1; pid <= 1000; ++pid) lines += "0 " + std::to_string(pid) + " 1\n";
  folder_.write("processes", lines);
  for (const char* library : {NVS_FAKE_NVML_LIBRARY, NVS_FAKE_NVML_OLD_LIBRARY}) {
    const auto processes = list(library);
    ASSERT_TRUE(processes) << processes.error();
    ASSERT_EQ(processes->size(), 1000U);
    EXPECT_EQ(processes->back(), (ProcessMemory{1000, 1}));
  }
}

TEST_F(NvmlProcesses, OneThatIsListedTwiceIsOne) {
  folder_.write("processes", "0 5 3\n0 6 1\n0 5 4\n0 6 -1\n0 7 -1\n0 7 2\n");
  EXPECT_EQ(list(NVS_FAKE_NVML_LIBRARY), (Processes{{5, 7}, {6, {}}, {7, {}}}));
}

TEST_F(NvmlProcesses, WhoMayNotAskIsToldSo) {
  const auto processes = list(NVS_FAKE_NVML_LIBRARY, "no_permission");
  ASSERT_FALSE(processes);
  EXPECT_EQ(processes.error(), "Fake Error");
}

TEST_F(NvmlProcesses, NobodyIsAnAnswer) {
  folder_.write("processes", "");
  EXPECT_EQ(list(NVS_FAKE_NVML_LIBRARY), Processes{});
}

}  // namespace
}  // namespace nvs
