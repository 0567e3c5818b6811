// SPDX-License-Identifier: Apache-2.0
#include "daemon/memory_watch.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "base/unique_fd.h"

namespace nvs::daemon {
namespace {

class MemoryWatchTest : public ::testing::Test {
 protected:
  MemoryWatchTest() {
    ::setenv("NVSHARE_NVML", NVS_FAKE_NVML_LIBRARY, 1);
    ::setenv("NVSHARE_FAKE_NVML_FREE", path_.c_str(), 1);
    write(5);
  }
  ~MemoryWatchTest() override {
    ::unsetenv("NVSHARE_NVML");
    ::unsetenv("NVSHARE_FAKE_NVML_FREE");
    ::unsetenv("NVSHARE_FAKE_NVML");
    ::unsetenv("NVSHARE_FAKE_NVML_LOST");
    ::unsetenv("NVSHARE_FAKE_NVML_PROCESSES");
    std::filesystem::remove(path_);
  }

  void write(std::uint64_t free_bytes) const {
    std::ofstream(path_ + ".new") << free_bytes;
    std::filesystem::rename(path_ + ".new", path_);
  }
  static Gpu gpu(const std::string& uuid, std::uint64_t memory_bytes = 100) {
    return {
        .uuid = uuid, .uuid_bytes = *parse_uuid(uuid), .name = "", .memory_bytes = memory_bytes};
  }
  // The next readings.
  static std::vector<MemoryWatch::Reading> wait(MemoryWatch& watch) {
    pollfd ready{watch.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, 60'000), 1);
    return watch.take();
  }

  static bool has_thread() {
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      if (std::ifstream(task.path() / "comm") >> name && name == "gpu-memory") return true;
    }
    return false;
  }

  std::string path_ = ::testing::TempDir() + "nvshare_free_" + std::to_string(::getpid());
  const std::string first_ = "GPU-00000000-1122-3344-5566-778899aabbcc";
  const std::string last_ = "GPU-00000002-1122-3344-5566-778899aabbcc";
};

TEST_F(MemoryWatchTest, ReadsWhatIsFreeAgainAndAgain) {
  std::string remarks;
  const auto watch = MemoryWatch::start({gpu(first_), gpu(last_)}, Duration::from_ms(1), remarks);
  ASSERT_NE(watch, nullptr);
  EXPECT_EQ(remarks, "");
  const auto readings = wait(*watch);
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].gpu, *parse_uuid(first_));
  EXPECT_EQ(readings[1].gpu, *parse_uuid(last_));
  EXPECT_EQ(readings[1].free_bytes, 5U);
  write(7);
  while (wait(*watch).at(0).free_bytes != 7) {
  }
}

TEST_F(MemoryWatchTest, ReadsWhoHasIt) {
  const TestFolder folder;
  const std::string file = folder.write("processes", "0 17 50\n2 9 1\n2 8 -1\n");
  ::setenv("NVSHARE_FAKE_NVML_PROCESSES", file.c_str(), 1);
  std::string remarks;
  const auto watch = MemoryWatch::start({gpu(first_), gpu(last_)}, Duration::from_ms(1), remarks);
  ASSERT_NE(watch, nullptr);
  const auto readings = wait(*watch);
  ASSERT_EQ(readings.size(), 2U);
  EXPECT_EQ(readings[0].processes, (std::vector<ProcessMemory>{{17, 50}}));
  EXPECT_EQ(readings[1].processes, (std::vector<ProcessMemory>{{8, {}}, {9, 1}}));
}

TEST_F(MemoryWatchTest, WhatIsFreeIsReadAlsoWhereWhoHasItIsNotTold) {
  ::setenv("NVSHARE_FAKE_NVML", "no_permission", 1);
  std::string remarks;
  const auto watch = MemoryWatch::start({gpu(first_)}, Duration::from_s(1000), remarks);
  ASSERT_NE(watch, nullptr);
  const auto readings = wait(*watch);
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].free_bytes, 5U);
  EXPECT_FALSE(readings[0].processes);
}

TEST_F(MemoryWatchTest, GpusThatNvmlDoesNotKnowAreLeftOut) {
  const std::string unknown = "GPU-99999999-1122-3344-5566-778899aabbcc";
  std::string remarks;
  const auto watch = MemoryWatch::start({gpu(unknown), gpu(first_, 0), gpu(last_)},
                                        Duration::from_s(1000), remarks);
  ASSERT_NE(watch, nullptr);
  EXPECT_EQ(remarks.find(unknown + ": who else uses its memory is not known: "), 0U) << remarks;
  EXPECT_EQ(remarks.find('\n'), std::string::npos);
  const auto readings = wait(*watch);
  ASSERT_EQ(readings.size(), 1U);
  EXPECT_EQ(readings[0].gpu, *parse_uuid(last_));
}

TEST_F(MemoryWatchTest, AGpuThatIsLostIsTold) {
  const TestFolder folder;
  const std::string file = folder.write("lost", "");
  ::setenv("NVSHARE_FAKE_NVML_LOST", file.c_str(), 1);
  std::string remarks;
  const auto watch = MemoryWatch::start({gpu(first_), gpu(last_)}, Duration::from_ms(1), remarks);
  ASSERT_NE(watch, nullptr);
  EXPECT_TRUE(wait(*watch).at(0).free_bytes);
  folder.write("lost", "0");
  std::vector<MemoryWatch::Reading> readings = wait(*watch);
  while (readings.at(0).free_bytes) readings = wait(*watch);
  EXPECT_EQ(readings[0].free_bytes.error(), "Fake Error");
  EXPECT_FALSE(readings[0].processes);
  EXPECT_TRUE(readings[1].free_bytes) << "another one";
  folder.write("lost", "");
  while (!wait(*watch).at(0).free_bytes) {
  }
}

// A call that hangs: it reads a pipe into which nothing is written.
TEST_F(MemoryWatchTest, AThreadThatNvmlKeepsIsLeftBehind) {
  std::filesystem::remove(path_);
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::string remarks;
  auto watch = MemoryWatch::start({gpu(first_), gpu(last_)}, Duration::from_ms(1), remarks);
  ASSERT_NE(watch, nullptr);
  UniqueFd pipe{::open(path_.c_str(), O_WRONLY | O_CLOEXEC)};  // once the other end is open
  EXPECT_EQ(watch->asked(), parse_uuid(first_));
  EXPECT_FALSE(MemoryWatch::has_left_thread());
  watch.reset();
  EXPECT_TRUE(MemoryWatch::has_left_thread());
  EXPECT_TRUE(has_thread());
  // When the call returns after all, what the thread uses is still there.
  write(5);
  pipe.reset();
  while (has_thread()) std::this_thread::yield();
}

TEST_F(MemoryWatchTest, WithoutNvmlThereIsNoWatch) {
  ::setenv("NVSHARE_NVML", "/nonexistent", 1);
  std::string remarks;
  EXPECT_EQ(MemoryWatch::start({gpu(first_)}, Duration::from_s(1), remarks), nullptr);
}

}  // namespace
}  // namespace nvs::daemon
