// SPDX-License-Identifier: Apache-2.0
#include "os/memfd.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/shared_mapping.h"

namespace nvs::os {
namespace {

// Halves are whole huge pages, should the host have them.
constexpr std::size_t kBytes = std::size_t{4} << 20U;

std::uint64_t bytes_made(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST(Memfd, ItsSizeIsFixedAndItIsClosedOnExec) {
  const UniqueFd fd = *make_memfd("test", kBytes);
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_END), static_cast<off_t>(kBytes));
  EXPECT_EQ(::ftruncate(fd.get(), 4096), -1);
  EXPECT_EQ(::ftruncate(fd.get(), 2 * kBytes), -1);
  EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE), -1) << "nobody else may seal it either";
  EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(bytes_made(fd.get()), 0U);
}

TEST(Memfd, TouchingMakesThePagesOfTheRangeAndKeepsWhatIsInThem) {
  const UniqueFd fd = *make_memfd("test", kBytes);
  ASSERT_EQ(::pwrite(fd.get(), "kept", 4, kBytes / 2), 4);
  const SharedMapping half = *SharedMapping::create(fd.get(), kBytes / 2, kBytes / 2);
  ASSERT_TRUE(half.touch());
  EXPECT_EQ(bytes_made(fd.get()), kBytes / 2);
  EXPECT_EQ(std::memcmp(half.data(), "kept", 4), 0);
}

TEST(Memfd, PagesOfARangeCanBeMadeWithoutTouchingThem) {
  const UniqueFd fd = *make_memfd("test", kBytes);
  ASSERT_EQ(::pwrite(fd.get(), "kept", 4, kBytes / 2), 4);
  ASSERT_TRUE(make_pages(fd.get(), kBytes / 2, kBytes / 2));
  EXPECT_EQ(bytes_made(fd.get()), kBytes / 2);
  char kept[4] = {};
  ASSERT_EQ(::pread(fd.get(), kept, 4, kBytes / 2), 4);
  EXPECT_EQ(std::memcmp(kept, "kept", 4), 0);
  EXPECT_FALSE(make_pages(fd.get(), kBytes, 0)) << "nothing is no range";
}

TEST(Memfd, TouchingByWritingDoesTheSame) {
  const UniqueFd fd = *make_memfd("test", kBytes);
  ASSERT_EQ(::pwrite(fd.get(), "kept", 4, 0), 4);
  const SharedMapping half = *SharedMapping::create(fd.get(), 0, kBytes / 2);
  half.touch_by_writing();
  EXPECT_EQ(bytes_made(fd.get()), kBytes / 2);
  EXPECT_EQ(std::memcmp(half.data(), "kept", 4), 0);
}

TEST(Memfd, WhatIsDiscardedIsGoneForWhoeverHasMappedIt) {
  const UniqueFd fd = *make_memfd("test", kBytes);
  const SharedMapping whole = *SharedMapping::create(fd.get(), 0, kBytes);
  std::memset(whole.data(), 'x', kBytes);
  ASSERT_TRUE(discard(fd.get(), 0, kBytes / 2));
  EXPECT_EQ(bytes_made(fd.get()), kBytes / 2);
  EXPECT_EQ(whole.data()[0], std::byte{0});
  EXPECT_EQ(whole.data()[kBytes / 2], std::byte{'x'});
  EXPECT_EQ(::lseek(fd.get(), 0, SEEK_END), static_cast<off_t>(kBytes));
}

TEST(Memfd, MappingsGoWithTheirOwner) {
  const UniqueFd fd = *make_memfd("test", kBytes);
  const auto is_mapped = [](std::byte* data) { return ::msync(data, kBytes, MS_ASYNC) == 0; };
  std::byte* data = nullptr;
  {
    SharedMapping first = *SharedMapping::create(fd.get(), 0, kBytes);
    data = first.data();
    const SharedMapping second = std::move(first);
    EXPECT_EQ(second.data(), data);
    EXPECT_TRUE(is_mapped(data));
  }
  EXPECT_FALSE(is_mapped(data));
  EXPECT_EQ(SharedMapping::create(fd.get(), 1, kBytes).error().sys, EINVAL);
}

TEST(Memfd, HugePagesAreASettingOfTheHost) {
  const auto parsed = [](const char* text) {
    const MemfdHugePages pages = parse_shmem_enabled(text);
    return std::pair{pages.possible, pages.on_advice};
  };
  const std::pair no{false, false};
  const std::pair always{true, false};
  EXPECT_EQ(parsed("always within_size advise [never] deny force\n"), no);
  EXPECT_EQ(parsed("always within_size advise never [deny] force\n"), no);
  EXPECT_EQ(parsed("[always] within_size advise never deny force\n"), always);
  EXPECT_EQ(parsed("always [within_size] advise never deny force\n"), always);
  EXPECT_EQ(parsed("always within_size advise never deny [force]\n"), always);
  EXPECT_EQ(parsed("always within_size [advise] never deny force\n"), std::pair(true, true));
  for (const char* odd : {"", "always", "]always[", "[always"}) EXPECT_EQ(parsed(odd), no) << odd;
}

}  // namespace
}  // namespace nvs::os
