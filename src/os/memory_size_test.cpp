// SPDX-License-Identifier: Apache-2.0
#include "os/memory_size.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace nvs::os {
namespace {

class MemorySizeTest : public ::testing::Test {
 protected:
  ~MemorySizeTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text;
  }
  void write_machine() const {
    write("/proc/meminfo", "MemFree:  1 kB\nMemTotal:       4096 kB\nMemAvailable: 2 kB\n");
  }

  static constexpr std::uint64_t kMachine = std::uint64_t{4096} << 10U;
  std::string root_ =
      ::testing::TempDir() + "nvshare_memory_size_test_" + std::to_string(::getpid());
};

TEST_F(MemorySizeTest, IsThatOfTheMachine) {
  EXPECT_EQ(memory_size(root_), std::nullopt) << "nothing can be read";
  write_machine();
  EXPECT_EQ(memory_size(root_), kMachine);
  EXPECT_EQ(memory_available(root_), 2048U);
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(memory_size(root_), kMachine);
}

TEST_F(MemorySizeTest, ALimitOfAnyCgroupAboveCounts) {
  write_machine();
  write("/proc/self/cgroup", "0::/a/b/c\n");
  write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.max", "2000000\n");
  EXPECT_EQ(memory_size(root_), 2'000'000U);
  write("/sys/fs/cgroup/a/memory.max", "1000000\n");
  EXPECT_EQ(memory_size(root_), 1'000'000U);
  write("/sys/fs/cgroup/memory.max", "900000\n");  // as in a container
  EXPECT_EQ(memory_size(root_), 900'000U);
}

TEST_F(MemorySizeTest, SoDoesOneOfTheFirstVersion) {
  write_machine();
  write("/proc/self/cgroup", "5:cpu,memory:/a\n4:freezer:/x\nnonsense\n");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_size(root_), kMachine) << "no limit";
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "1000\n");
  EXPECT_EQ(memory_size(root_), 1000U);
}

TEST(MemorySize, IsKnownHere) { EXPECT_GT(memory_size().value_or(0), std::uint64_t{1} << 26U); }

}  // namespace
}  // namespace nvs::os
