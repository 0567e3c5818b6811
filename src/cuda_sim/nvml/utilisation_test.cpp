// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <map>
#include <thread>

#include "cuda_sim/nvml/process_history.h"
#include "cuda_sim/nvml/test_library.h"
#include "cuda_sim/nvml/test_process.h"

namespace nvs::nvml {
namespace {

using std::chrono::milliseconds;

bool is_near(unsigned percent, unsigned expected) {
  constexpr unsigned kTolerance = 15;
  return percent + kTolerance >= expected && percent <= expected + kTolerance;
}

class UtilisationTest : public NvmlTest {
 protected:
  using Samples = std::map<unsigned, nvmlProcessUtilizationSample_t>;

  nvmlReturn_t ask(unsigned long long since, Samples& samples) {
    std::array<nvmlProcessUtilizationSample_t, 128> all{};
    unsigned count = all.size();
    const nvmlReturn_t result =
        nvml.nvmlDeviceGetProcessUtilization(device(), all.data(), &count, since);
    samples.clear();
    for (unsigned i = 0; result == NVML_SUCCESS && i < count; ++i) samples[all[i].pid] = all[i];
    return result;
  }
};

TEST_F(UtilisationTest, FollowsTheWork) {
  start();
  nvmlUtilization_t rates{9, 9};
  EXPECT_EQ(nvml.nvmlDeviceGetUtilizationRates(device(), &rates), NVML_SUCCESS);
  EXPECT_EQ(rates.gpu, 0U);
  EXPECT_EQ(rates.memory, 0U);
  const TestProcess tenant{{.busy_percent = 50}};
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(nvml.nvmlDeviceGetUtilizationRates(device(), &rates), NVML_SUCCESS);
    return is_near(rates.gpu, 50) && rates.memory == rates.gpu;
  })) << rates.gpu;
}

TEST_F(UtilisationTest, IsKnownByProcess) {
  start();
  const TestProcess busy{{.busy_percent = 60}};
  const TestProcess calm{{.busy_percent = 20}};
  const TestProcess idle{{}};
  Samples samples;
  ASSERT_TRUE(eventually([&] { return ask(0, samples) == NVML_SUCCESS && samples.size() == 2; }));
  unsigned long long seen = samples[busy.pid()].timeStamp;
  EXPECT_TRUE(eventually([&] {
    if (ask(seen, samples) != NVML_SUCCESS) return false;
    seen = samples.begin()->second.timeStamp;
    return is_near(samples[busy.pid()].smUtil, 60) && is_near(samples[calm.pid()].smUtil, 20);
  })) << samples[busy.pid()].smUtil
      << " " << samples[calm.pid()].smUtil;
  EXPECT_FALSE(samples.contains(idle.pid())) << "those that do nothing are not listed";
  EXPECT_EQ(samples[busy.pid()].encUtil, 0U);
}

TEST_F(UtilisationTest, NobodyWorksOnAnIdleGpu) {
  start();
  const TestProcess idle{{}};
  std::this_thread::sleep_for(milliseconds{150});
  Samples samples;
  EXPECT_EQ(ask(0, samples), NVML_ERROR_NOT_FOUND);
}

TEST_F(UtilisationTest, AsksForABufferOfTheCardsSize) {
  start();
  std::array<nvmlProcessUtilizationSample_t, 1> one{};
  unsigned count = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetProcessUtilization(device(), nullptr, &count, 0),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 72U);
  count = 1;
  EXPECT_EQ(nvml.nvmlDeviceGetProcessUtilization(device(), one.data(), &count, 0),
            NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 72U);
  EXPECT_EQ(nvml.nvmlDeviceGetProcessUtilization(device(), one.data(), nullptr, 0),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(UtilisationTest, TheNewerCallAgrees) {
  start();
  nvmlProcessesUtilizationInfo_t info{};
  EXPECT_EQ(nvml.nvmlDeviceGetProcessesUtilizationInfo(device(), &info),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  info.version = nvmlProcessesUtilizationInfo_v1;
  EXPECT_EQ(nvml.nvmlDeviceGetProcessesUtilizationInfo(device(), &info),
            NVML_ERROR_INSUFFICIENT_SIZE);
  const TestProcess tenant{{.busy_percent = 50}};
  std::array<nvmlProcessUtilizationInfo_v1_t, 72> all{};
  info.procUtilArray = all.data();
  ASSERT_TRUE(eventually(
      [&] { return nvml.nvmlDeviceGetProcessesUtilizationInfo(device(), &info) == NVML_SUCCESS; }));
  EXPECT_EQ(info.processSamplesCount, 1U);
  EXPECT_EQ(all[0].pid, tenant.pid());
  EXPECT_GT(all[0].smUtil, 0U);
}

TEST_F(UtilisationTest, SamplesOfTheGpuComeInOrder) {
  start();
  const TestProcess tenant{{.busy_percent = 50}};
  nvmlValueType_t type = NVML_VALUE_TYPE_DOUBLE;
  unsigned count = 0;
  EXPECT_EQ(
      nvml.nvmlDeviceGetSamples(device(), NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count, nullptr),
      NVML_SUCCESS);
  EXPECT_EQ(type, NVML_VALUE_TYPE_UNSIGNED_INT);
  std::array<nvmlSample_t, 64> samples{};
  ASSERT_LE(count, samples.size());
  const unsigned room = count;
  ASSERT_TRUE(eventually([&] {
    count = room;
    return nvml.nvmlDeviceGetSamples(device(), NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &count,
                                     samples.data()) == NVML_SUCCESS &&
           count >= 3;
  }));
  for (unsigned i = 1; i < count; ++i) {
    EXPECT_GT(samples[i].timeStamp, samples[i - 1].timeStamp);
  }
  unsigned fewer = count;
  ASSERT_EQ(nvml.nvmlDeviceGetSamples(device(), NVML_GPU_UTILIZATION_SAMPLES,
                                      samples[0].timeStamp + 1000, &type, &fewer, samples.data()),
            NVML_SUCCESS);
  EXPECT_EQ(nvml.nvmlDeviceGetSamples(device(), NVML_TOTAL_POWER_SAMPLES, 0, &type, &count,
                                      samples.data()),
            NVML_ERROR_NOT_SUPPORTED);
}

TEST(ProcessHistory, MeasuresAgainstTheNewestSnapshotThatTheCallerHasSeen) {
  constexpr sim::Nanos kSecond = 1'000'000'000;
  const auto at = [](unsigned second) {
    return Moment{.at = second * kSecond, .wall_us = second * 1'000'000ULL};
  };
  const auto busy = [](std::uint64_t ns) { return std::vector<GpuProcess>{{7, 0, ns}}; };
  const auto percent = [](const auto& shares) { return shares->at(0).percent; };
  ProcessHistory history;
  EXPECT_FALSE(history.shares(at(1), 0, busy(0)));
  EXPECT_EQ(percent(history.shares(at(2), 0, busy(kSecond / 2))), 50U);
  EXPECT_EQ(percent(history.shares(at(3), 2'000'000, busy(kSecond / 2 * 3))), 100U);
  EXPECT_EQ(percent(history.shares(at(4), 1'000'000, busy(kSecond / 2 * 3))), 50U);
  EXPECT_TRUE(history.shares(at(5), 4'000'000, busy(kSecond / 2 * 3))->empty());
  EXPECT_FALSE(history.shares(at(5), 5'000'000, busy(kSecond / 2 * 3))) << "no time has passed";
  const Moment soon{.at = 5 * kSecond + kSecond / 20, .wall_us = 5'050'000};
  EXPECT_FALSE(history.shares(soon, 5'000'000, busy(2 * kSecond))) << "too little has passed";
  EXPECT_EQ(percent(history.shares(at(6), 5'000'000, busy(kSecond / 10))), 10U) << "a new process";
}

}  // namespace
}  // namespace nvs::nvml
