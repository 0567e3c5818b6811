// SPDX-License-Identifier: Apache-2.0
#include "os/foreign_file.h"

#include <array>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "os/unix_socket.h"

namespace nvs::os {
namespace {

// A connection whose one end would take an hour to close: much is left to send, and nobody reads.
struct Lingering {
  UniqueFd fd;
  UniqueFd peer;
};

Lingering make_lingering() {
  const UniqueFd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener.get(), name, size), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), name, &size), 0);
  Lingering made;
  made.fd.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(made.fd.get(), name, size), 0);
  made.peer.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_TRUE(made.peer);
  const linger hour{1, 3600};
  EXPECT_EQ(::setsockopt(made.fd.get(), SOL_SOCKET, SO_LINGER, &hour, sizeof hour), 0);
  const std::vector<char> much(1 << 20);
  while (::send(made.fd.get(), much.data(), much.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  return made;
}

// What comes after it is closed, and nobody had to wait.
void expect_that_others_are_closed() {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reads{ends[0]};
  ForeignFile{UniqueFd{ends[1]}}.reset();
  pollfd look{reads.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&look, 1, 60'000), 1);
  EXPECT_NE(look.revents & POLLHUP, 0);
}

TEST(ForeignFileTest, IsClosedWithoutWaiting) { expect_that_others_are_closed(); }

TEST(ForeignFileTest, ASocketThatLingersIsInNobodysWay) {
  Lingering lingering = make_lingering();
  ForeignFile{std::move(lingering.fd)}.reset();
  expect_that_others_are_closed();
}

TEST(ForeignFileTest, NorAreThoseInUnreadPackets) {
  Lingering lingering = make_lingering();
  SocketPair outer = *make_pair(SocketKind::packets);
  SocketPair inner = *make_pair(SocketKind::packets);
  // Nothing but the packet has it, and an empty one lies before it.
  ASSERT_EQ(::send(inner.a.get(), "", 0, MSG_NOSIGNAL), 0);
  ASSERT_EQ(send_with_file(inner.a.get(), "x", 1, lingering.fd.get()).outcome, Transfer::done);
  lingering.fd.reset();
  ASSERT_EQ(send_with_file(outer.a.get(), "x", 1, inner.b.get()).outcome, Transfer::done);
  inner.b.reset();
  inner.a.reset();
  ForeignFile{std::move(outer.b)}.reset();
  expect_that_others_are_closed();
}

// Each of them in a packet of a socket of its own, where nobody can end its lingering before.
TEST(ForeignFileTest, NorAreManyOfThem) {
  std::vector<UniqueFd> peers;
  std::vector<ForeignFile> all;
  for (int i = 0; i < 200; ++i) {
    Lingering lingering = make_lingering();
    SocketPair pair = *make_pair(SocketKind::packets);
    ASSERT_EQ(send_with_file(pair.a.get(), "x", 1, lingering.fd.get()).outcome, Transfer::done);
    lingering.fd.reset();
    peers.push_back(std::move(lingering.peer));
    all.emplace_back(std::move(pair.b));
  }
  all.clear();
  wait_until_closed();
  expect_that_others_are_closed();
}

TEST(ForeignFileTest, IsMovedAndReplaced) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reads{ends[0]};
  ForeignFile first{UniqueFd{ends[1]}};
  ForeignFile second = std::move(first);
  EXPECT_EQ(second.get(), ends[1]);
  second = ForeignFile{};
  EXPECT_FALSE(second);
  pollfd look{reads.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&look, 1, 60'000), 1);
}

}  // namespace
}  // namespace nvs::os
