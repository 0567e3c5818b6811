// SPDX-License-Identifier: Apache-2.0
// For unit tests: the client's end of a session, which reads what the daemon sent.
#pragma once

#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include "base/unique_fd.h"
#include "daemon/session.h"
#include "os/unix_socket.h"
#include "wire/codec.h"

namespace nvs::daemon {

class TestClient {
 public:
  // Both ends of a connection; the daemon's is for a Session.
  explicit TestClient(UniqueFd& daemon_end) {
    os::SocketPair pair = *os::make_pair(os::SocketKind::packets);
    fd_ = std::move(pair.a);
    daemon_end = std::move(pair.b);
  }

  // The next message, which must be of that type.
  template <class Message>
  Message expect() {
    UniqueFd file;
    const Message message = expect<Message>(file);
    EXPECT_FALSE(file);
    return message;
  }
  // With the descriptor that came with it, if one did.
  template <class Message>
  Message expect(UniqueFd& file) {
    Message message;
    const os::Moved moved = os::receive_with_file(fd_.get(), packet_, sizeof packet_, file);
    EXPECT_EQ(moved.outcome, os::Transfer::done);
    const wire::Arrival arrival = wire::inspect(packet_, moved.bytes, wire::Sender::daemon);
    EXPECT_EQ(arrival.fault, wire::Fault::none) << wire::text_of(arrival.fault);
    EXPECT_EQ(arrival.type, Message::kType);
    EXPECT_TRUE(wire::decode(packet_, moved.bytes, message));
    return message;
  }
  bool has_nothing() {
    return os::receive_packet(fd_.get(), packet_, sizeof packet_).outcome == os::Transfer::not_now;
  }
  void close() { fd_.reset(); }

 private:
  UniqueFd fd_;
  alignas(8) std::byte packet_[wire::kPacketMax];
};

}  // namespace nvs::daemon
