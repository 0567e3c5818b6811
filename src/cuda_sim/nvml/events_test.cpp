// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "cuda_sim/nvml/test_library.h"

namespace nvs::nvml {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr unsigned kForever = ~0U;  // ms

class EventsTest : public NvmlTest {
 protected:
  EventsTest() {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): tests change the environment while they have one
    // thread
    ::setenv("NVSHARE_SIM_NVML_EVENTS_FILE", path_.c_str(), 1);
  }

  ~EventsTest() override {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): as above
    ::unsetenv("NVSHARE_SIM_NVML_EVENTS_FILE");
    ::unlink(path_.c_str());
  }

  void append(const std::string& text) { std::ofstream{path_, std::ios::app} << text; }

  nvmlEventSet_t listen(unsigned long long types = nvmlEventTypeXidCriticalError) {
    nvmlEventSet_t set = nullptr;
    EXPECT_EQ(nvml.nvmlEventSetCreate(&set), NVML_SUCCESS);
    unsigned count = 0;
    EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(nvml.nvmlDeviceRegisterEvents(device(i), types, set), NVML_SUCCESS);
    }
    return set;
  }

  nvmlReturn_t wait(nvmlEventSet_t set, unsigned timeout_ms = 0) {
    return nvml.nvmlEventSetWait_v2(set, &event_, timeout_ms);
  }

  std::string path_ = testing::TempDir() + "nvml-events-" + std::to_string(::getpid());
  nvmlEventData_t event_{};
};

TEST_F(EventsTest, NothingHappensUntilTheTimeIsOver) {
  start();
  const nvmlEventSet_t set = listen();
  const auto before = Clock::now();
  EXPECT_EQ(wait(set, 60), NVML_ERROR_TIMEOUT);
  EXPECT_GE(Clock::now() - before, milliseconds{60});
  EXPECT_EQ(wait(set), NVML_ERROR_TIMEOUT);
}

TEST_F(EventsTest, ALineIsAnXid) {
  append("0 13\n");
  start("h200", 2);
  const nvmlEventSet_t set = listen();
  EXPECT_EQ(wait(set), NVML_ERROR_TIMEOUT) << "that was before";
  append("1 79\n0 48\n");
  ASSERT_EQ(wait(set), NVML_SUCCESS);
  EXPECT_EQ(event_.device, device(1));
  EXPECT_EQ(event_.eventType, static_cast<unsigned long long>(nvmlEventTypeXidCriticalError));
  EXPECT_EQ(event_.eventData, 79U);
  EXPECT_EQ(event_.gpuInstanceId, ~0U);
  ASSERT_EQ(wait(set), NVML_SUCCESS);
  EXPECT_EQ(event_.device, device(0));
  EXPECT_EQ(event_.eventData, 48U);
  EXPECT_EQ(wait(set), NVML_ERROR_TIMEOUT);
}

TEST_F(EventsTest, ASetHearsNothingFromBeforeItListened) {
  start();
  nvmlEventSet_t set = nullptr;
  ASSERT_EQ(nvml.nvmlEventSetCreate(&set), NVML_SUCCESS);
  append("0 13\n");
  ASSERT_EQ(nvml.nvmlDeviceRegisterEvents(device(), nvmlEventTypeXidCriticalError, set),
            NVML_SUCCESS);
  EXPECT_EQ(wait(set), NVML_ERROR_TIMEOUT);
}

TEST_F(EventsTest, WakesTheWaiter) {
  start();
  const nvmlEventSet_t set = listen();
  std::thread breaker{[this] {
    std::this_thread::sleep_for(milliseconds{50});
    append("0 94\n");
  }};
  EXPECT_EQ(wait(set, kForever), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 94U);
  breaker.join();
}

TEST_F(EventsTest, EverySetHearsWhatItListensTo) {
  start("h200", 2);
  const nvmlEventSet_t first = listen();
  const nvmlEventSet_t deaf = listen(nvmlEventTypeClock);
  nvmlEventSet_t narrow = nullptr;
  ASSERT_EQ(nvml.nvmlEventSetCreate(&narrow), NVML_SUCCESS);
  ASSERT_EQ(nvml.nvmlDeviceRegisterEvents(device(1), nvmlEventTypeAll, narrow), NVML_SUCCESS);
  append("0 13\n1 31\n");
  ASSERT_EQ(wait(first), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 13U);
  ASSERT_EQ(wait(narrow), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 31U);
  EXPECT_EQ(wait(deaf), NVML_ERROR_TIMEOUT);
}

TEST_F(EventsTest, AHalfWrittenLineWaitsForItsEnd) {
  start();
  const nvmlEventSet_t set = listen();
  append("0 7");
  EXPECT_EQ(wait(set), NVML_ERROR_TIMEOUT);
  append("9\n");
  ASSERT_EQ(wait(set), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 79U);
}

TEST_F(EventsTest, ABadLineIsNamedAndPassedOver) {
  start();
  const nvmlEventSet_t set = listen();
  append("rubbish\n99 1\n0 13\n");
  testing::internal::CaptureStderr();
  ASSERT_EQ(wait(set), NVML_SUCCESS);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("rubbish"), std::string::npos);
  EXPECT_EQ(event_.eventData, 13U);
}

TEST_F(EventsTest, TheFirstVersionWritesItsShorterStruct) {
  start();
  const nvmlEventSet_t set = listen();
  append("0 13\n");
  std::memset(&event_, 0xee, sizeof event_);
  const nvmlEventData_t blank = event_;
  ASSERT_EQ(nvml.nvmlEventSetWait(set, &event_, 0), NVML_SUCCESS);
  EXPECT_EQ(event_.eventData, 13U);
  EXPECT_EQ(event_.gpuInstanceId, blank.gpuInstanceId);
  EXPECT_EQ(event_.computeInstanceId, blank.computeInstanceId);
}

TEST_F(EventsTest, RefusesWhatIsNoSet) {
  start();
  nvmlEventSet_t set = listen(0);
  EXPECT_EQ(nvml.nvmlDeviceRegisterEvents(device(), 1ULL << 40, set), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvml.nvmlDeviceRegisterEvents(nullptr, 8, set), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceRegisterEvents(device(), 8, nullptr), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlEventSetWait_v2(set, nullptr, 0), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlEventSetCreate(nullptr), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlEventSetFree(set), NVML_SUCCESS);
  EXPECT_EQ(nvml.nvmlEventSetFree(set), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(wait(set), NVML_ERROR_INVALID_ARGUMENT);
  unsigned long long types = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetSupportedEventTypes(device(), &types), NVML_SUCCESS);
  EXPECT_EQ(types, static_cast<unsigned long long>(nvmlEventTypeAll));
}

}  // namespace
}  // namespace nvs::nvml
