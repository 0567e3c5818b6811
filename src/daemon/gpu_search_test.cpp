// SPDX-License-Identifier: Apache-2.0
#include "daemon/gpu_search.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <poll.h>

#include "base/test_folder.h"

namespace nvs::daemon {
namespace {

class GpuSearchTest : public ::testing::Test {
 protected:
  GpuSearchTest() { ::setenv("NVSHARE_NVML", library_.c_str(), 1); }
  ~GpuSearchTest() override { ::unsetenv("NVSHARE_NVML"); }

  const TestFolder folder_;
  const std::string library_ = folder_.path("libnvidia-ml.so.1");
};

TEST_F(GpuSearchTest, FindsWhatComesLater) {
  const auto search = GpuSearch::start(Duration::from_ms(1), Duration::from_ms(2));
  ASSERT_NE(search, nullptr);
  EXPECT_FALSE(search->take());
  // Whole at once.
  std::filesystem::create_symlink(NVS_FAKE_NVML_LIBRARY, library_);
  pollfd ready{search->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
  const auto found = search->take();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->gpus.size(), 3U);
  EXPECT_NE(found->watch, nullptr);
  EXPECT_FALSE(search->take()) << "once";
}

TEST_F(GpuSearchTest, EndsWhileItWaits) {
  auto search = GpuSearch::start(Duration::from_s(3600), Duration::from_s(3600));
  ASSERT_NE(search, nullptr);
  search.reset();
  EXPECT_FALSE(GpuSearch::has_left_thread());
}

}  // namespace
}  // namespace nvs::daemon
