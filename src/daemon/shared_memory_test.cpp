// SPDX-License-Identifier: Apache-2.0
#include "daemon/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "daemon/test_client.h"
#include "os/memfd.h"

namespace nvs::daemon {
namespace {

constexpr core::ClientId kMaker{1};
constexpr core::ClientId kOtherClient{2};

ino_t inode_of(const UniqueFd& file) {
  struct stat facts {};
  EXPECT_EQ(::fstat(file.get(), &facts), 0);
  return facts.st_ino;
}

class SharedMemoryTest : public ::testing::Test {
 protected:
  template <class Message>
  Verdict take(Session& session, const Message& message, UniqueFd file = {}) {
    wire::Packet<Message> packet;
    packet.message = message;
    const SharedMemory::Sender sender{session, tenant_, origin_};
    return shared_.take(sender, Message::kType, &packet, sizeof packet,
                        os::ForeignFile{std::move(file)});
  }
  // The file's inode, by which it is known again.
  ino_t share(std::uint8_t token, std::uint32_t index, std::uint32_t count) {
    UniqueFd file = *os::make_memfd("chunk", 4096);
    const ino_t inode = inode_of(file);
    EXPECT_FALSE(take(maker_, chunk(token, index, count), std::move(file)));
    return inode;
  }
  static wire::ShareMemory chunk(std::uint8_t token, std::uint32_t index, std::uint32_t count) {
    wire::ShareMemory message;
    message.token[0] = token;
    message.index = index;
    message.count = count;
    message.bytes = 100 + index;
    return message;
  }
  void ask(std::uint8_t token, std::uint32_t index) {
    wire::OpenShared message;
    message.request = 77;
    message.token[0] = token;
    message.index = index;
    EXPECT_FALSE(take(other_, message));
  }
  void expect_gone(std::uint8_t token, std::uint32_t index) {
    ask(token, index);
    EXPECT_EQ(other_end_.expect<wire::SharedGone>().request, 77U);
  }

  UniqueFd maker_fd_, other_fd_;
  TestClient maker_end_{maker_fd_};
  TestClient other_end_{other_fd_};
  Session maker_{kMaker, std::move(maker_fd_), Instant{}};
  Session other_{kOtherClient, std::move(other_fd_), Instant{}};
  core::TenantId tenant_{1};  // of whoever speaks
  std::string origin_;
  SharedMemory shared_{kSharedFilesMax};
};

TEST_F(SharedMemoryTest, WhoeverHasTheTokenGetsEachChunk) {
  const ino_t first = share(5, 0, 2);
  const ino_t second = share(5, 1, 2);
  for (const std::uint32_t index : {1U, 0U, 1U}) {
    ask(5, index);
    UniqueFd file;
    const auto answer = other_end_.expect<wire::SharedChunk>(file);
    EXPECT_EQ(answer.request, 77U);
    EXPECT_EQ(answer.index, index);
    EXPECT_EQ(answer.count, 2U);
    EXPECT_EQ(answer.bytes, 100 + index);
    EXPECT_EQ(inode_of(file), index == 0 ? first : second);
  }
  expect_gone(5, 2);
  expect_gone(6, 0);
}

TEST_F(SharedMemoryTest, ItEndsWhenItsMakerSaysSoOrLeaves) {
  share(5, 0, 1);
  share(6, 0, 1);
  share(7, 0, 1);
  wire::UnshareMemory done;
  done.token[0] = 5;
  EXPECT_FALSE(take(other_, done));  // not its own
  EXPECT_EQ(shared_.files(), 3U);
  EXPECT_FALSE(take(maker_, done));
  EXPECT_EQ(shared_.files(), 2U);
  expect_gone(5, 0);
  shared_.leave(kOtherClient);
  EXPECT_EQ(shared_.files(), 2U);
  shared_.leave(kMaker);
  EXPECT_EQ(shared_.files(), 0U);
  expect_gone(6, 0);
}

TEST_F(SharedMemoryTest, TokensCannotBeTaken) {
  share(5, 0, 2);
  EXPECT_TRUE(take(other_, chunk(5, 1, 2), *os::make_memfd("chunk", 4096)));
  EXPECT_TRUE(take(maker_, chunk(5, 0, 2), *os::make_memfd("chunk", 4096)));
  EXPECT_TRUE(take(maker_, chunk(5, 1, 3), *os::make_memfd("chunk", 4096)));
  EXPECT_EQ(shared_.files(), 1U);
}

TEST_F(SharedMemoryTest, WhatThereIsNoRoomForIsNotKept) {
  EXPECT_FALSE(take(maker_, chunk(5, 0, 1)));  // without a descriptor
  expect_gone(5, 0);
  for (std::size_t i = 0; i < kSharedFilesOfTenantMax; ++i) {
    share(6, static_cast<std::uint32_t>(i), kSharedFilesOfTenantMax);
  }
  share(7, 0, 1);
  EXPECT_EQ(shared_.files(), kSharedFilesOfTenantMax);
  expect_gone(7, 0);
  // Another process of the tenant has no more; another tenant has its own.
  EXPECT_FALSE(take(other_, chunk(8, 0, 1), *os::make_memfd("chunk", 4096)));
  expect_gone(8, 0);
  tenant_ = core::TenantId{2};
  EXPECT_FALSE(take(other_, chunk(8, 0, 1), *os::make_memfd("chunk", 4096)));
  EXPECT_EQ(shared_.files(), kSharedFilesOfTenantMax + 1);
}

TEST_F(SharedMemoryTest, AllTenantsTogetherHaveNoMoreThanThereIs) {
  shared_ = SharedMemory(2);
  for (std::uint8_t i = 0; i < 3; ++i) {
    tenant_ = core::TenantId{i};
    share(i, 0, 1);
  }
  EXPECT_EQ(shared_.files(), 2U);
}

// Outside of containers a user can be as many of them as it likes.
TEST_F(SharedMemoryTest, AllTenantsOfAnOriginHaveNoMoreThanOne) {
  std::uint8_t tenants = 0;
  const auto fill = [&] {
    tenant_ = core::TenantId{++tenants};
    for (std::uint32_t i = 0; i < 3 * kSharedFilesOfTenantMax / 4; ++i) {
      share(tenants, i, kSharedFilesOfTenantMax);
    }
    return shared_.files();
  };
  origin_ = "user:1";
  fill();
  EXPECT_EQ(fill(), kSharedFilesOfTenantMax);
  origin_ = "user:2";
  EXPECT_EQ(fill(), 7 * kSharedFilesOfTenantMax / 4) << "another one has its own";
  shared_.leave(kMaker);
  origin_ = "user:1";
  EXPECT_EQ(fill(), 3 * kSharedFilesOfTenantMax / 4) << "what has gone does not count";
}

TEST_F(SharedMemoryTest, AnOriginHasAQuarterOfWhatThereIs) {
  shared_ = SharedMemory(8);
  origin_ = "user:1";
  for (std::uint8_t i = 0; i < 4; ++i) share(i, 0, 1);
  EXPECT_EQ(shared_.files(), 2U);
  origin_ = "";
  for (std::uint8_t i = 10; i < 20; ++i) share(i, 0, 1);
  EXPECT_EQ(shared_.files(), 8U) << "who is trusted may have all of it";
}

TEST_F(SharedMemoryTest, WhoeverAsksWithoutReadingIsClosed) {
  share(5, 0, 1);
  wire::OpenShared message;
  message.token[0] = 5;
  while (other_.output() == Session::Output::flowing) ASSERT_FALSE(take(other_, message));
  EXPECT_TRUE(take(other_, message));
}

TEST_F(SharedMemoryTest, FieldsAreChecked) {
  EXPECT_TRUE(take(maker_, chunk(5, 1, 1)));
  wire::OpenShared far;
  far.index = wire::kSharedChunksMax;
  EXPECT_TRUE(take(other_, far));
}

}  // namespace
}  // namespace nvs::daemon
