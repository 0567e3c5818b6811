// SPDX-License-Identifier: Apache-2.0
#include "os/tcp_socket.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace nvs::os {
namespace {

TEST(TcpAddress, IsANumberAndAPort) {
  EXPECT_EQ(parse_tcp_address("127.0.0.1:9402"), (TcpAddress{"127.0.0.1", 9402}));
  EXPECT_EQ(parse_tcp_address("[::1]:9402"), (TcpAddress{"::1", 9402}));
  EXPECT_EQ(parse_tcp_address(":65535"), (TcpAddress{"", 65535}));
  EXPECT_EQ(parse_tcp_address(":0"), (TcpAddress{"", 0}));
}

TEST(TcpAddress, IsNothingElse) {
  for (const char* text : {"", ":", "9402", "127.0.0.1", "127.0.0.1:", ":65536", ":-1", ":+1",
                           ":80a", ": 80", "::1:80", "[]:80", "[::1]", "[::1]80", "[127.0.0.1]:80",
                           "localhost:80", "127.1:80", "[::1:80", "a:b"}) {
    EXPECT_FALSE(parse_tcp_address(text)) << text;
  }
}

TEST(TcpSocket, SaysThatAPortIsInUse) {
  const auto first = listen_tcp({"127.0.0.1", 0});
  ASSERT_TRUE(first) << first.error().message();
  const std::uint16_t port = local_port(first->get());
  EXPECT_NE(port, 0);
  const auto second = listen_tcp({"127.0.0.1", port});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().sys, EADDRINUSE);
}

TEST(TcpSocket, OfAllAddressesIsInTheWayOfEach) {
  const auto all = listen_tcp({"", 0});
  ASSERT_TRUE(all) << all.error().message();
  const auto one = listen_tcp({"127.0.0.1", local_port(all->get())});
  ASSERT_FALSE(one) << "IPv4 is among them";
  EXPECT_EQ(one.error().sys, EADDRINUSE);
}

TEST(TcpSocket, HasNoConnectionAtFirst) {
  const auto listener = listen_tcp({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  const auto accepted = accept_tcp(listener->get());
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().sys, EAGAIN);
}

}  // namespace
}  // namespace nvs::os
