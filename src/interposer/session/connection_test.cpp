// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/connection.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace nvs::interposer {
namespace {

namespace fs = std::filesystem;
using connection::Outcome;

class Connection : public testing::Test {
 protected:
  void SetUp() override {
    connection::start_over_in_child();
    char name[] = "/tmp/nvs-connection-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    fs::create_directory(folder_ + "/tenant");
    ASSERT_TRUE(connection::set_folder(folder_.c_str()));
  }
  void TearDown() override {
    connection::disconnect();
    if (server_ >= 0) ::close(server_);
    if (peer_ >= 0) ::close(peer_);
    fs::remove_all(folder_);
  }

  void listen() {
    server_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ + "/" + wire::kTenantSocket;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(server_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(server_, 4), 0);
  }
  void connect() {
    listen();
    ASSERT_TRUE(connection::connect());
    peer_ = ::accept(server_, nullptr, nullptr);
    ASSERT_GE(peer_, 0);
  }

  std::string folder_;
  int server_ = -1;
  int peer_ = -1;
};

TEST_F(Connection, WithoutADaemonThereIsNone) {
  EXPECT_FALSE(connection::connect());
  EXPECT_FALSE(connection::is_connected());
  EXPECT_EQ(connection::send(wire::Want{}), Outcome::lost);
}

TEST_F(Connection, PacketsGoBothWays) {
  connect();
  EXPECT_EQ(connection::send(wire::Want{.ordinal = 5}), Outcome::done);
  wire::Packet<wire::Want> got;
  ASSERT_EQ(::read(peer_, &got, sizeof got), static_cast<ssize_t>(sizeof got));
  EXPECT_EQ(got.message.ordinal, 5U);
  char packet[wire::kPacketMax];
  std::size_t size = 0;
  int file = -1;
  EXPECT_EQ(connection::receive(packet, sizeof packet, size, file), Outcome::again);
  const wire::Packet<wire::Pong> pong{.message = {.number = 9}};
  ASSERT_EQ(::write(peer_, &pong, sizeof pong), static_cast<ssize_t>(sizeof pong));
  ASSERT_EQ(connection::receive(packet, sizeof packet, size, file), Outcome::done);
  EXPECT_EQ(size, sizeof pong);
}

TEST_F(Connection, ADaemonThatGoesIsNoticed) {
  connect();
  ::close(peer_);
  peer_ = -1;
  char packet[wire::kPacketMax];
  std::size_t size = 0;
  int file = -1;
  EXPECT_EQ(connection::receive(packet, sizeof packet, size, file), Outcome::lost);
  EXPECT_EQ(connection::send(wire::Want{}), Outcome::lost);
}

TEST_F(Connection, AFullSocketIsNotWaitedFor) {
  connect();
  Outcome outcome = Outcome::done;
  for (int i = 0; i < 100'000 && outcome == Outcome::done; ++i) {
    outcome = connection::send(wire::Want{});
  }
  EXPECT_EQ(outcome, Outcome::again);
}

// A program that closes all descriptors gets the number again, for something of its own.
TEST_F(Connection, NothingGoesIntoWhatTheProgramPutThere) {
  connect();
  int number = -1;
  for (int fd = 3; fd < 1024; ++fd) {
    if (fd == server_ || fd == peer_ || ::close(fd) != 0) continue;
    number = fd;
  }
  ASSERT_GT(number, 2) << "nothing was open";
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, sockets), 0);
  ASSERT_EQ(::dup2(sockets[0], number), number);
  EXPECT_EQ(connection::send(wire::Want{}), Outcome::lost);
  char byte = 0;
  EXPECT_EQ(::read(sockets[1], &byte, 1), -1) << "a packet went to the program's own socket";
  char packet[wire::kPacketMax];
  std::size_t size = 0;
  int file = -1;
  EXPECT_EQ(connection::receive(packet, sizeof packet, size, file), Outcome::lost);
  connection::disconnect();
  EXPECT_EQ(::write(number, "x", 1), 1) << "the program's descriptor was closed";
  ::close(number);
  ::close(sockets[0]);
  ::close(sockets[1]);
}

TEST_F(Connection, AFolderThatDoesNotFitIsRefused) {
  EXPECT_FALSE(connection::set_folder(std::string(120, 'x').c_str()));
  EXPECT_FALSE(connection::connect());
}

}  // namespace
}  // namespace nvs::interposer
