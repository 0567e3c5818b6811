// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdlib>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "cuda_sim/nvml/test_library.h"

namespace nvs::nvml {
namespace {

TEST_F(NvmlTest, RefusesCallsBeforeInitAndAfterShutdown) {
  unsigned count = 7;
  std::array<char, 80> text{};
  nvmlEventSet_t set = nullptr;
  int cuda = 0;
  const auto refused = [&] {
    EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(nvml.nvmlSystemGetDriverVersion(text.data(), 80), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(nvml.nvmlSystemGetCudaDriverVersion(&cuda), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(nvml.nvmlEventSetCreate(&set), NVML_ERROR_UNINITIALIZED);
    EXPECT_EQ(nvml.nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    // As on the real one, this alone is answered.
    EXPECT_EQ(nvml.nvmlSystemGetNVMLVersion(text.data(), 80), NVML_SUCCESS);
  };
  refused();
  start();
  const nvmlDevice_t gpu = device();
  EXPECT_EQ(nvml.nvmlShutdown(), NVML_SUCCESS);
  refused();
  unsigned index = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetIndex(gpu, &index), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(count, 7U);
}

TEST_F(NvmlTest, CountsInits) {
  ASSERT_EQ(nvml.nvmlInit(), NVML_SUCCESS);
  ASSERT_EQ(nvml.nvmlInit_v2(), NVML_SUCCESS);
  ASSERT_EQ(nvml.nvmlInitWithFlags(NVML_INIT_FLAG_NO_GPUS), NVML_SUCCESS);
  unsigned count = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    EXPECT_EQ(nvml.nvmlShutdown(), NVML_SUCCESS);
  }
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
}

TEST_F(NvmlTest, HandlesDieWithTheirInit) {
  start();
  const nvmlDevice_t old = device();
  ASSERT_EQ(nvml.nvmlShutdown(), NVML_SUCCESS);
  start();
  unsigned index = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetIndex(old, &index), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetIndex(device(), &index), NVML_SUCCESS);
}

TEST_F(NvmlTest, SaysWhatIsWrongWithTheSettings) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this test has one thread
  ::setenv("NVSHARE_SIM_PRESET", "abacus", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(nvml.nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("NVSHARE_SIM_PRESET=abacus"),
            std::string::npos);
}

TEST_F(NvmlTest, TellsVersions) {
  start();
  std::array<char, 80> text{};
  int cuda = 0;
  EXPECT_EQ(nvml.nvmlSystemGetDriverVersion(text.data(), 80), NVML_SUCCESS);
  EXPECT_STREQ(text.data(), "580.159.04");
  EXPECT_EQ(nvml.nvmlSystemGetNVMLVersion(text.data(), 80), NVML_SUCCESS);
  EXPECT_STREQ(text.data(), "13.580.159.04");
  EXPECT_EQ(nvml.nvmlSystemGetCudaDriverVersion_v2(&cuda), NVML_SUCCESS);
  EXPECT_EQ(cuda, 13000);
  EXPECT_EQ(nvml.nvmlSystemGetDriverVersion(text.data(), 10), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvml.nvmlSystemGetDriverVersion(text.data(), 11), NVML_SUCCESS);
  EXPECT_EQ(nvml.nvmlSystemGetDriverVersion(nullptr, 80), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlSystemGetCudaDriverVersion(nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(NvmlTest, NamesErrors) {
  EXPECT_STREQ(nvml.nvmlErrorString(NVML_SUCCESS), "Success");
  EXPECT_STREQ(nvml.nvmlErrorString(NVML_ERROR_TIMEOUT), "Timeout");
  EXPECT_STREQ(nvml.nvmlErrorString(NVML_ERROR_ARGUMENT_VERSION_MISMATCH),
               "Argument version mismatch");
  EXPECT_STREQ(nvml.nvmlErrorString(NVML_ERROR_UNKNOWN), "Unknown Error");
  EXPECT_STREQ(nvml.nvmlErrorString(static_cast<nvmlReturn_t>(31)), "Unknown Error");
}

TEST_F(NvmlTest, AForkChildStartsAnewAndLeavesItsParentAlone) {
  start();
  const nvmlDevice_t gpu = device();
  const pid_t child = ::fork();
  if (child == 0) {
    unsigned count = 0;
    const bool good = nvml.nvmlDeviceGetCount_v2(&count) == NVML_ERROR_UNINITIALIZED &&
                      nvml.nvmlShutdown() == NVML_ERROR_UNINITIALIZED &&
                      nvml.nvmlInit_v2() == NVML_SUCCESS &&
                      nvml.nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS && count == 1 &&
                      nvml.nvmlShutdown() == NVML_SUCCESS;
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::access(segment_path().c_str(), F_OK), 0) << "the child took the machine with it";
  unsigned index = 7;
  EXPECT_EQ(nvml.nvmlDeviceGetIndex(gpu, &index), NVML_SUCCESS);
  EXPECT_EQ(index, 0U);
}

TEST_F(NvmlTest, ThreadsMayCallWhileOthersInitAndShutDown) {
  start();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      for (int round = 0; round < 50; ++round) {
        ASSERT_EQ(nvml.nvmlInit_v2(), NVML_SUCCESS);
        nvmlMemory_t memory{};
        EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(device(), &memory), NVML_SUCCESS);
        ASSERT_EQ(nvml.nvmlShutdown(), NVML_SUCCESS);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(NvmlTest, NamesWhatIsNotSimulatedOnce) {
  start();
  testing::internal::CaptureStderr();
  unsigned value = 0;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(nvml.nvmlDeviceGetPcieThroughput(device(), NVML_PCIE_UTIL_TX_BYTES, &value),
              NVML_ERROR_NOT_SUPPORTED);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "simulated NVML: nvmlDeviceGetPcieThroughput is not simulated\n");
}

}  // namespace
}  // namespace nvs::nvml
