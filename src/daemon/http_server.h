// SPDX-License-Identifier: Apache-2.0
// Pages over HTTP in the event loop, for anybody who can reach the port: bytes in, bytes out, never
// waiting. However many connect and however slow they are, a bounded number of connections is held,
// each for a bounded time, and one round of the loop does little for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/http_connection.h"
#include "os/event_loop.h"

namespace nvs::daemon {

class HttpServer {
 public:
  // The loop outlives it.
  HttpServer(os::EventLoop& loop, HttpPages pages) : loop_(loop), pages_(std::move(pages)) {}
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  Result<void> listen(UniqueFd listener);
  // Nobody is served any more, and the port is free.
  void stop();

  // When on_deadline() has something to do.
  std::optional<Instant> next_deadline() const;
  void on_deadline(Instant now);

  std::size_t count() const { return connections_.size(); }

 private:
  // Closing at once what still sends would take the answer from it: the kernel says so with a
  // reset, and the other side drops what it has not read.
  enum class Phase : std::uint8_t { request, answer, farewell };

  struct Connection {
    UniqueFd fd;
    Instant deadline;
    HttpConnection bytes = {};
    Phase phase = Phase::request;
    std::size_t ignored = 0;  // bytes that came after the answer
  };
  using Connections = std::unordered_map<int, std::unique_ptr<Connection>>;

  void accept_one();
  void pause_accepting();
  void make_room();
  void on_ready(Connection& connection);
  // Each is false if the connection is over.
  bool read_request(Connection& connection);
  bool write_answer(Connection& connection);
  bool read_the_rest(Connection& connection);
  void close(int fd);

  os::EventLoop& loop_;
  HttpPages pages_;
  UniqueFd listener_;
  std::optional<Instant> accept_again_;
  Connections connections_;
};

}  // namespace nvs::daemon
