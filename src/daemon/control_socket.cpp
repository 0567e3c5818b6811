// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_socket.h"

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "daemon/limits.h"
#include "os/unix_socket.h"

namespace nvs::daemon {

ControlSocket::~ControlSocket() {
  if (listener_) loop_.remove(listener_.get());
  for (const auto& [fd, connection] : connections_) loop_.remove(fd);
}

Result<void> ControlSocket::listen(UniqueFd listener) {
  listener_ = std::move(listener);
  return loop_.add(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
}

bool ControlSocket::admits(int fd) const {
  const Result<Peer> peer = identify(fd, 0);
  const bool is_plugin = asker_ == Asker::plugin;
  if (peer && (is_plugin ? may_speak_for_kubelet(*peer, self_) : may_administer(*peer, self_))) {
    return true;
  }
  log(Level::warning, is_plugin ? "refused a device plugin" : "refused an administrator",
      {{"pid", os::peer_pid(fd)},
       {"reason", peer ? "it is neither root nor this daemon's user, or is in a container"
                       : peer.error().message()}});
  return false;
}

void ControlSocket::accept_one() {
  Result<UniqueFd> accepted = os::accept_unix(listener_.get());
  if (!accepted) {
    const int error = accepted.error().sys;
    // Of other errors it is the connection that is broken, and it is gone.
    const bool is_ours = error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
    if (is_ours) pause_accepting(accepted.error());
    return;
  }
  is_trouble_told_ = false;
  const int fd = accepted->get();
  if (!admits(fd)) {
    const std::string answer = denied_answer(asker_);
    os::send(fd, answer.data(), answer.size());
    return;
  }
  if (connections_.size() == kAdminConnectionsMax) {
    log(Level::warning, "too many administrators are connected",
        {{"max", kAdminConnectionsMax}, {"pid", os::peer_pid(fd)}});
    return;
  }
  auto connection = std::make_unique<Connection>();
  connection->fd = std::move(*accepted);
  connection->bytes = AdminConnection(asker_);
  Connection* raw = connection.get();
  const auto added =
      loop_.add(fd, EPOLLIN, [this, raw](std::uint32_t events) { on_ready(*raw, events); });
  if (!added) return;
  connections_.emplace(fd, std::move(connection));
}

// Who waits to be accepted is reported in every round, and a round can do nothing about it now.
void ControlSocket::pause_accepting(const Error& error) {
  if (!is_trouble_told_) {
    log(Level::warning,
        asker_ == Asker::plugin ? "cannot take a device plugin; trying again soon"
                                : "cannot take an administrator; trying again soon",
        {{"error", error.message()}});
  }
  is_trouble_told_ = true;
  static_cast<void>(loop_.change(listener_.get(), 0));
  accept_again_ = loop_.now() + kAcceptPause;
}

void ControlSocket::on_deadline() {
  if (!accept_again_ || *accept_again_ > loop_.now()) return;
  accept_again_ = std::nullopt;
  const Result<void> watched = loop_.change(listener_.get(), EPOLLIN);
  if (!watched) pause_accepting(watched.error());
}

void ControlSocket::on_ready(Connection& connection, std::uint32_t events) {
  AdminConnection& bytes = connection.bytes;
  const bool has_input = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
  if (has_input && bytes.wants_input() && !connection.has_ended) read(connection);
  if (!write(connection) || bytes.is_over()) return close(connection);
  std::uint32_t wanted = 0;
  if (bytes.wants_input() && !connection.has_ended) wanted |= EPOLLIN;
  if (!bytes.to_send().empty()) wanted |= EPOLLOUT;
  if (!loop_.change(connection.fd.get(), wanted)) close(connection);
}

void ControlSocket::read(Connection& connection) {
  char data[4096];
  const os::Moved moved = os::receive_bytes(connection.fd.get(), data, sizeof data);
  if (moved.outcome == os::Transfer::closed) {
    connection.has_ended = true;
    connection.bytes.ended(control_);
  } else if (moved.outcome == os::Transfer::done) {
    connection.bytes.received(control_, std::string_view(data, moved.bytes));
  }
}

// False: the connection is broken.
bool ControlSocket::write(Connection& connection) {
  while (!connection.bytes.to_send().empty()) {
    const std::string_view rest = connection.bytes.to_send();
    const os::Moved moved = os::send(connection.fd.get(), rest.data(), rest.size());
    if (moved.outcome == os::Transfer::closed) return false;
    if (moved.outcome == os::Transfer::not_now) return true;
    connection.bytes.sent(control_, moved.bytes);
  }
  return true;
}

void ControlSocket::close(Connection& connection) {
  const int fd = connection.fd.get();
  loop_.remove(fd);
  connections_.erase(fd);
}

}  // namespace nvs::daemon
