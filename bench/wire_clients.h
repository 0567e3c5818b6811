// SPDX-License-Identifier: Apache-2.0
// Very many clients of the daemon without a process each: connections of one process that speak the
// protocol as the library does, each a tenant of its own. Most only say now and then that they are
// there; some take every window they get and want the next.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace nvs::bench {

struct WireClientsPlan {
  std::size_t clients;
  std::size_t runners;  // the first of them
  std::size_t gpus;     // runners are dealt out to them; all others are on the first
  // A GPU of this daemon that all of them use; none: their GPUs exist in their messages alone.
  std::optional<std::array<std::uint8_t, 16>> gpu = std::nullopt;
};

class WireClients {
 public:
  // Connects all to the daemon of that folder. Throws Failure if one is not welcome or a GPU is not
  // known.
  WireClients(const std::string& folder, const WireClientsPlan& plan);

  struct Counted {
    std::uint64_t windows = 0;  // opened to runners
    std::uint64_t pings = 0;
    std::uint64_t pongs = 0;
  };
  // Lets the runners run for so long. Throws Failure if the daemon closes a connection.
  Counted run(double seconds);

  // The first one waits for a window. Throws Failure if it gets none.
  void wait_for_window();
  // The first one sends so many messages a second until that instant; false: the daemon has ended
  // it before.
  bool flood(double per_second, std::int64_t until_ns);
  // The first one sends this as one packet, whatever it is.
  void send_bytes(std::string_view bytes) const;

 private:
  struct Client {
    UniqueFd fd;
    bool runner = false;
    bool gpu_known = false;
    std::uint64_t grant = 0;  // of its last window
  };

  template <class Message>
  void send(const Client& client, const Message& message) const;
  void want(const Client& client) const;
  void introduce(std::size_t index, const WireClientsPlan& plan);
  void ping_those_due(std::int64_t now);
  // Handles what has come, for as long as nothing comes at most.
  void serve(int timeout_ms);
  void receive(Client& client);
  void handle(Client& client, const void* packet, std::size_t size);

  UniqueFd epoll_;
  std::vector<Client> clients_;
  std::size_t known_ = 0;
  std::size_t next_ping_ = 0;
  std::int64_t ping_at_ns_ = 0;
  Counted counted_;
};

}  // namespace nvs::bench
