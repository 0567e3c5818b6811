// SPDX-License-Identifier: Apache-2.0
// For tests of the session without its threads: the test is the daemon at the other end of the
// socket, and calls what the threads would.
#pragma once

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/drain.h"
#include "interposer/session/session.h"
#include "interposer/session/tend.h"
#include "wire/codec.h"

namespace nvs::interposer {

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    session::start_over_in_child();
    gate::start_over_in_child();
    char name[] = "/tmp/nvs-session-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    folder_ = name;
    std::filesystem::create_directory(folder_ + "/tenant");
    ASSERT_TRUE(connection::set_folder(folder_.c_str()));
    listener_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = folder_ + "/" + wire::kTenantSocket;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listener_, 4), 0);
    ASSERT_TRUE(connection::connect());
    peer_ = ::accept(listener_, nullptr, nullptr);
    ASSERT_GE(peer_, 0);
  }
  void TearDown() override {
    session::start_over_in_child();
    gate::start_over_in_child();
    ::close(peer_);
    ::close(listener_);
    std::filesystem::remove_all(folder_);
  }

  static session::Gpu& gpu() { return session::gpus[0]; }
  // As the thread that drains it does.
  static void complete_drain() {
    EXPECT_TRUE(drain::completed(0, gpu().drain.job, gate::let_in_so_far(0)));
  }
  void expect_drained(std::uint64_t grant) const {
    const auto message = heard<wire::Drained>();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->grant, grant);
  }

  // The next message, if it is this one.
  template <class Message>
  std::optional<Message> heard() const {
    wire::Packet<Message> packet;
    char bytes[wire::kPacketMax];
    const ssize_t size = ::recv(peer_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (size != static_cast<ssize_t>(sizeof packet)) return std::nullopt;
    std::memcpy(&packet, bytes, sizeof packet);
    if (packet.header.type != static_cast<std::uint16_t>(Message::kType)) return std::nullopt;
    return packet.message;
  }
  bool heard_nothing() const {
    char byte = 0;
    return ::recv(peer_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0;
  }

  // As the daemon says it; nobody has received it yet.
  template <class Message>
  void send_to_us(const Message& message) const {
    wire::Packet<Message> packet;
    packet.message = message;
    ASSERT_EQ(::send(peer_, &packet, sizeof packet, 0), static_cast<ssize_t>(sizeof packet));
  }

  // Until the socket takes no more; and as if the daemon had read all of it.
  static void fill_socket() {
    while (connection::send(wire::Ping{}) == connection::Outcome::done) {
    }
  }
  void empty_socket() const {
    char packet[wire::kPacketMax];
    while (::recv(peer_, packet, sizeof packet, MSG_DONTWAIT) > 0) {
    }
  }

 private:
  std::string folder_;
  int listener_ = -1;
  int peer_ = -1;
};

}  // namespace nvs::interposer
