// SPDX-License-Identifier: Apache-2.0
#include "os/tcp_socket.h"

#include <cerrno>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace nvs::os {
namespace {

// Either kind, as the calls want it.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

template <class Kind>
SocketAddress generic_address(const Kind& kind) {
  SocketAddress address;
  std::memcpy(&address.storage, &kind, sizeof kind);
  address.size = sizeof kind;
  return address;
}

std::optional<SocketAddress> address_of_v4(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (!host.empty() && ::inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) return {};
  return generic_address(address);
}

std::optional<SocketAddress> address_of_v6(const std::string& host, std::uint16_t port) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (!host.empty() && ::inet_pton(AF_INET6, host.c_str(), &address.sin6_addr) != 1) return {};
  return generic_address(address);
}

Result<UniqueFd> listen_at(const SocketAddress& address) {
  UniqueFd fd{::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "socket"));
  // A restart need not wait until the last connections of the one before are forgotten.
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.storage.ss_family == AF_INET6) {
    const int no = 0;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  if (::bind(fd.get(), address.generic(), address.size) != 0) {
    return tl::unexpected(Error::from_errno(errno, "bind"));
  }
  if (::listen(fd.get(), SOMAXCONN) != 0) return tl::unexpected(Error::from_errno(errno, "listen"));
  return fd;
}

bool lacks_family(int error) { return error == EAFNOSUPPORT || error == EADDRNOTAVAIL; }

}  // namespace

std::optional<TcpAddress> parse_tcp_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  TcpAddress address;
  const std::string_view digits = text.substr(colon + 1);
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, address.port);
  if (digits.empty() || error != std::errc{} || rest != end) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (is_bracketed) host = host.substr(1, host.size() - 2);
  address.host = host;
  if (host.empty()) return address;
  const bool is_address =
      (is_bracketed ? address_of_v6(address.host, 0) : address_of_v4(address.host, 0)).has_value();
  return is_address ? std::optional(address) : std::nullopt;
}

Result<UniqueFd> listen_tcp(const TcpAddress& address) {
  if (const auto v4 = address_of_v4(address.host, address.port); v4 && !address.host.empty()) {
    return listen_at(*v4);
  }
  const auto v6 = address_of_v6(address.host, address.port);
  if (!v6) return tl::unexpected(Error::from_errno(EINVAL, "address"));
  Result<UniqueFd> listening = listen_at(*v6);
  const bool is_all = address.host.empty();
  if (listening || !is_all || !lacks_family(listening.error().sys)) return listening;
  return listen_at(*address_of_v4("", address.port));
}

Result<UniqueFd> accept_tcp(int listener) {
  UniqueFd fd{::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "accept"));
  return fd;
}

std::uint16_t local_port(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  if (address.ss_family != AF_INET) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

void end_output(int fd) { ::shutdown(fd, SHUT_WR); }

}  // namespace nvs::os
