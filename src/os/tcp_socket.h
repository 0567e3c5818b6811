// SPDX-License-Identifier: Apache-2.0
// A port that others can ask at over TCP. Addresses are numbers: looking up names would wait for
// somebody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::os {

struct TcpAddress {
  std::string host;        // "127.0.0.1", "::1"; empty: all that the machine has
  std::uint16_t port = 0;  // 0: any that is free
  bool operator==(const TcpAddress&) const = default;
};

// "127.0.0.1:9402", "[::1]:9402", ":9402". Nothing if it is not of that form.
std::optional<TcpAddress> parse_tcp_address(std::string_view text);

// A listening socket, non-blocking. All addresses are those of IPv4 alone where the system has no
// IPv6. Errors: EADDRINUSE, EADDRNOTAVAIL, EACCES.
Result<UniqueFd> listen_tcp(const TcpAddress& address);

// The next connection, non-blocking; EAGAIN if there is none.
Result<UniqueFd> accept_tcp(int listener);

// The port at this end; 0 if it has none.
std::uint16_t local_port(int fd);

// The other side learns that nothing more comes; it can still be read.
void end_output(int fd);

}  // namespace nvs::os
