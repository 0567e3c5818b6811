// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_server.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/log.h"
#include "daemon/limits.h"
#include "os/tcp_socket.h"
#include "os/unix_socket.h"

namespace nvs::daemon {

HttpServer::~HttpServer() { stop(); }

void HttpServer::stop() {
  if (listener_) loop_.remove(listener_.get());
  listener_.reset();
  accept_again_.reset();
  for (const auto& [fd, connection] : connections_) loop_.remove(fd);
  connections_.clear();
}

Result<void> HttpServer::listen(UniqueFd listener) {
  listener_ = std::move(listener);
  return loop_.add(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
}

std::optional<Instant> HttpServer::next_deadline() const {
  std::optional<Instant> earliest = accept_again_;
  for (const auto& [fd, connection] : connections_) {
    if (!earliest || connection->deadline < *earliest) earliest = connection->deadline;
  }
  return earliest;
}

void HttpServer::on_deadline(Instant now) {
  std::vector<int> late;
  for (const auto& [fd, connection] : connections_) {
    if (connection->deadline <= now) late.push_back(fd);
  }
  for (const int fd : late) close(fd);
  if (!accept_again_ || *accept_again_ > now) return;
  accept_again_ = std::nullopt;
  if (!loop_.change(listener_.get(), EPOLLIN)) pause_accepting();
}

void HttpServer::accept_one() {
  Result<UniqueFd> accepted = os::accept_tcp(listener_.get());
  if (!accepted) {
    const int error = accepted.error().sys;
    // Of other errors it is the connection that is broken, and it is gone.
    if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
      log(Level::warning, "cannot take another HTTP connection",
          {{"error", accepted.error().message()}});
      pause_accepting();
    }
    return;
  }
  if (connections_.size() == kHttpConnectionsMax) make_room();
  const int fd = accepted->get();
  auto connection = std::make_unique<Connection>(
      Connection{.fd = std::move(*accepted), .deadline = loop_.now() + kHttpWait});
  Connection* raw = connection.get();
  if (!loop_.add(fd, EPOLLIN, [this, raw](std::uint32_t) { on_ready(*raw); })) return;
  connections_.emplace(fd, std::move(connection));
}

// Who waits to be accepted is reported in every round, and a round can do nothing about it now.
void HttpServer::pause_accepting() {
  static_cast<void>(loop_.change(listener_.get(), 0));
  accept_again_ = loop_.now() + kAcceptPause;
}

// The one that has the least time left: it has its answer already, or has said nothing for longest.
// Whoever is in earnest asks at once, so slow ones do not keep others out.
void HttpServer::make_room() {
  const auto first = std::min_element(
      connections_.begin(), connections_.end(),
      [](const auto& a, const auto& b) { return a.second->deadline < b.second->deadline; });
  close(first->first);
}

void HttpServer::on_ready(Connection& connection) {
  bool goes_on = true;
  if (connection.phase == Phase::farewell) goes_on = read_the_rest(connection);
  if (connection.phase == Phase::request) goes_on = read_request(connection);
  if (goes_on && connection.phase == Phase::answer) goes_on = write_answer(connection);
  const std::uint32_t wanted = connection.phase == Phase::answer ? EPOLLOUT : EPOLLIN;
  const int fd = connection.fd.get();
  if (!goes_on || !loop_.change(fd, wanted)) close(fd);
}

bool HttpServer::read_request(Connection& connection) {
  char data[4096];
  const os::Moved moved = os::receive_bytes(connection.fd.get(), data, sizeof data);
  if (moved.outcome != os::Transfer::done) return moved.outcome == os::Transfer::not_now;
  connection.bytes.received(pages_, std::string_view(data, moved.bytes));
  if (connection.bytes.has_answer()) {
    connection.phase = Phase::answer;
    connection.deadline = loop_.now() + kHttpWait;
  }
  return true;
}

bool HttpServer::write_answer(Connection& connection) {
  const std::string_view rest = connection.bytes.to_send().substr(0, kHttpSendMax);
  const os::Moved moved = os::send(connection.fd.get(), rest.data(), rest.size());
  if (moved.outcome != os::Transfer::done) return moved.outcome == os::Transfer::not_now;
  connection.bytes.sent(moved.bytes);
  if (connection.bytes.to_send().empty()) {
    os::end_output(connection.fd.get());
    connection.phase = Phase::farewell;
    connection.deadline = loop_.now() + kHttpFarewell;
  }
  return true;
}

bool HttpServer::read_the_rest(Connection& connection) {
  char data[4096];
  const os::Moved moved = os::receive_bytes(connection.fd.get(), data, sizeof data);
  connection.ignored += moved.bytes;
  return moved.outcome != os::Transfer::closed && connection.ignored <= kHttpIgnoredMax;
}

void HttpServer::close(int fd) {
  loop_.remove(fd);
  connections_.erase(fd);
}

}  // namespace nvs::daemon
