// SPDX-License-Identifier: Apache-2.0
// The connections of administrators, or of the device plugin, in the event loop: bytes in, bytes
// out, never waiting.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/admin.h"
#include "daemon/identity.h"
#include "os/event_loop.h"

namespace nvs::daemon {

class ControlSocket {
 public:
  ControlSocket(os::EventLoop& loop, NodeControl& control, const Peer& self, Asker asker)
      : loop_(loop), control_(control), self_(self), asker_(asker) {}
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  Result<void> listen(UniqueFd listener);

  // When on_deadline() has something to do.
  std::optional<Instant> next_deadline() const { return accept_again_; }
  void on_deadline();

 private:
  struct Connection {
    UniqueFd fd;
    AdminConnection bytes;
    bool has_ended = false;  // the peer will send nothing more
  };

  void accept_one();
  void pause_accepting(const Error& error);
  bool admits(int fd) const;
  void on_ready(Connection& connection, std::uint32_t events);
  void read(Connection& connection);
  bool write(Connection& connection);
  void close(Connection& connection);

  os::EventLoop& loop_;
  NodeControl& control_;
  const Peer& self_;
  Asker asker_;
  UniqueFd listener_;
  std::optional<Instant> accept_again_;
  bool is_trouble_told_ = false;  // that nobody could be taken, since somebody last was
  std::unordered_map<int, std::unique_ptr<Connection>> connections_;
};

}  // namespace nvs::daemon
