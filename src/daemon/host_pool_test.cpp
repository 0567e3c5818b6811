// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_pool.h"

#include <cerrno>
#include <cstring>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include "daemon/host_setup.h"
#include "daemon/test_client.h"
#include "daemon/test_files.h"
#include "os/shared_mapping.h"

namespace nvs::daemon {
namespace {

constexpr std::uint64_t kPoolSegment = wire::kHostSegmentUnit;
constexpr HostPlan kPoolPlan{8 * kPoolSegment, kPoolSegment, 8, 2};
constexpr core::ClientId kPoolFirst{1}, kPoolSecond{2};
constexpr core::TenantId kTenant{1}, kOtherTenant{2};

std::uint64_t bytes_made(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

class HostPoolTest : public ::testing::Test {
 protected:
  // What a client gets for its request: the message and the memory.
  struct Got {
    wire::HostSegment message;
    UniqueFd memfd;
  };

  // Until nothing is being made or given back.
  void work(HostPool& pool) {
    for (HostView view = pool.view(); view.touching_bytes + view.freeing_bytes > 0;
         view = pool.view()) {
      pollfd ready{pool.fd(), POLLIN, 0};
      ASSERT_EQ(::poll(&ready, 1, -1), 1);
      pool.on_progress();
    }
  }
  Got get(HostPool& pool, core::ClientId client) {
    pool.need(client, {.request = 9, .bytes = 1});
    work(pool);
    Got got;
    for (const HostPool::Answer& answer : pool.take_answers()) {
      EXPECT_EQ(answer.client, client);
      pool.send(answer, session_);
    }
    got.message = client_.expect<wire::HostSegment>(got.memfd);
    return got;
  }
  std::unique_ptr<HostWorkers> workers() { return std::move(*HostWorkers::create(2, {})); }

  std::uint64_t available_ = ~std::uint64_t{0};
  UniqueFd daemon_end_;
  TestClient client_{daemon_end_};
  Session session_{kPoolFirst, std::move(daemon_end_), Instant{}};
  HostPool pool_{kPoolPlan, workers(), {}, [this] { return available_; }};
};

TEST_F(HostPoolTest, SegmentsAreMadeWhenTheyArrive) {
  pool_.join(kPoolFirst, kTenant);
  const Got got = get(pool_, kPoolFirst);
  EXPECT_EQ(got.message.request, 9U);
  EXPECT_EQ(got.message.bytes, kPoolSegment);
  EXPECT_EQ(bytes_made(got.memfd.get()), kPoolSegment);
  EXPECT_EQ(pool_.view().tenants.at(kTenant), kPoolSegment);
}

TEST_F(HostPoolTest, WhatIsGivenBackIsGoneEvenIfTheClientKeepsIt) {
  pool_.join(kPoolFirst, kTenant);
  const Got got = get(pool_, kPoolFirst);
  const auto mapping = *os::SharedMapping::create(got.memfd.get(), 0, kPoolSegment);
  std::memset(mapping.data(), 'x', kPoolSegment);
  EXPECT_FALSE(pool_.give_back(kPoolFirst, {.segment = got.message.segment + 1}));
  ASSERT_TRUE(pool_.give_back(kPoolFirst, {.segment = got.message.segment}));
  work(pool_);
  EXPECT_EQ(bytes_made(got.memfd.get()), 0U);
  EXPECT_EQ(pool_.view().held_bytes, 0U);
}

TEST_F(HostPoolTest, NobodyGetsWhatAnotherHad) {
  pool_.join(kPoolFirst, kTenant);
  const Got first = get(pool_, kPoolFirst);
  const auto mapping = *os::SharedMapping::create(first.memfd.get(), 0, kPoolSegment);
  std::memset(mapping.data(), 'x', kPoolSegment);
  pool_.leave(kPoolFirst);
  pool_.join(kPoolSecond, kOtherTenant);
  const Got second = get(pool_, kPoolSecond);
  EXPECT_NE(second.message.segment, first.message.segment);
  const auto fresh = *os::SharedMapping::create(second.memfd.get(), 0, kPoolSegment);
  EXPECT_EQ(fresh.data()[0], std::byte{0});
  std::memset(mapping.data(), 'y', kPoolSegment);
  EXPECT_EQ(fresh.data()[0], std::byte{0});
}

TEST_F(HostPoolTest, DescriptorsGoWithTheirSegments) {
  const std::ptrdiff_t before = open_files();
  for (int i = 0; i < 5; ++i) {
    pool_.join(kPoolFirst, kTenant);
    pool_.join(kPoolSecond, kOtherTenant);  // for a reserve
    get(pool_, kPoolFirst);
    EXPECT_EQ(open_files(), before + 3);
    pool_.leave(kPoolFirst);
    pool_.leave(kPoolSecond);
    work(pool_);
    EXPECT_EQ(open_files(), before);
  }
}

TEST_F(HostPoolTest, WhatClientsHoldOutlivesTheDaemon) {
  Got got;
  {
    HostPool pool{kPoolPlan, workers(), {}, [this] { return available_; }};
    pool.join(kPoolFirst, kTenant);
    got = get(pool, kPoolFirst);
    const auto mapping = *os::SharedMapping::create(got.memfd.get(), 0, kPoolSegment);
    std::memset(mapping.data(), 'x', kPoolSegment);
    pool.need(kPoolFirst, {.request = 1, .bytes = 4 * kPoolSegment});  // under way when it ends
  }
  const auto mapping = *os::SharedMapping::create(got.memfd.get(), 0, kPoolSegment);
  EXPECT_EQ(mapping.data()[kPoolSegment - 1], std::byte{'x'});
}

TEST_F(HostPoolTest, WhenLittleMemoryIsLeftNoneIsLent) {
  pool_.join(kPoolFirst, kTenant);
  available_ = kHostMarginBytes + kPoolSegment - 1;
  pool_.need(kPoolFirst, {.request = 5, .bytes = 2 * kPoolSegment});
  const auto answers = pool_.take_answers();
  ASSERT_EQ(answers.size(), 1U);
  const auto& denied = std::get<wire::HostDenied>(answers[0].message);
  EXPECT_EQ(denied.reason, static_cast<wire::u32>(wire::HostDenial::no_memory));
  EXPECT_EQ(denied.bytes, 2 * kPoolSegment);
  work(pool_);
  available_ = kHostMarginBytes + kPoolSegment;
  get(pool_, kPoolFirst);
}

TEST_F(HostPoolTest, AFullSocketKeepsTheDescriptor) {
  std::uint64_t sent = 0;
  while (session_.send(wire::Pong{}) == Session::Output::flowing) ++sent;
  pool_.join(kPoolFirst, kTenant);
  const std::ptrdiff_t before = open_files();
  pool_.need(kPoolFirst, {.request = 9, .bytes = 1});
  work(pool_);
  for (const HostPool::Answer& answer : pool_.take_answers()) pool_.send(answer, session_);
  EXPECT_EQ(open_files(), before + 2) << "the pool's own, and one for the client";
  for (int i = 0; i < 100; ++i) session_.send(wire::Pong{});
  std::uint64_t read = 0;
  for (; open_files() > before + 1 && read <= sent; ++read) {
    client_.expect<wire::Pong>();
    session_.flush();
  }
  EXPECT_EQ(session_.output(), Session::Output::queued) << "with others behind it";
  EXPECT_EQ(open_files(), before + 1);
  for (; read <= sent; ++read) client_.expect<wire::Pong>();
  UniqueFd memfd;
  EXPECT_EQ(client_.expect<wire::HostSegment>(memfd).bytes, kPoolSegment);
  EXPECT_EQ(bytes_made(memfd.get()), kPoolSegment);
}

TEST(HostWorkers, FailuresAreTold) {
  const auto workers = std::move(*HostWorkers::create(3, {}));
  // More pieces than threads, so that all of them meet a descriptor that is none.
  workers->touch(SegmentId{4}, -1, 5 * kHostPieceBytes + 1);
  pollfd ready{workers->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, -1), 1);
  const auto done = workers->take_done();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].segment, SegmentId{4});
  EXPECT_EQ(done[0].work, HostWorkers::Work::touch);
  EXPECT_EQ(done[0].error, EBADF);
  EXPECT_EQ(::poll(&ready, 1, 0), 0) << "nothing more";
}

// More than one piece of each: the pieces make up the whole, and no more.
TEST(HostWorkers, PiecesMakeUpTheWhole) {
  constexpr std::uint64_t kBytes = kHostPieceBytes + kPoolSegment;
  const auto workers = std::move(*HostWorkers::create(3, {}));
  UniqueFd memfd = *os::make_memfd("test", kBytes);
  const UniqueFd kept{::dup(memfd.get())};
  workers->touch(SegmentId{1}, memfd.get(), kBytes);
  pollfd ready{workers->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, -1), 1);
  EXPECT_EQ(workers->take_done().at(0).error, 0);
  EXPECT_EQ(bytes_made(kept.get()), kBytes);
  workers->free(SegmentId{1}, std::move(memfd), kBytes);
  ASSERT_EQ(::poll(&ready, 1, -1), 1);
  EXPECT_EQ(workers->take_done().at(0).work, HostWorkers::Work::free);
  EXPECT_EQ(bytes_made(kept.get()), 0U);
}

TEST(HostThreads, AreHalfOfTheProcessorsAndNotMany) {
  EXPECT_EQ(host_threads(0), 1U);
  EXPECT_EQ(host_threads(1), 1U);
  EXPECT_EQ(host_threads(6), 3U);
  EXPECT_EQ(host_threads(200), kHostThreadsMax);
}

}  // namespace
}  // namespace nvs::daemon
