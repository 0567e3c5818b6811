// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/probe_server.h"

#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include <sys/epoll.h>
#include <sys/socket.h>

#include "os/tcp_socket.h"

namespace nvs::plugin {
namespace {

std::string response(const char* status, const std::string& body) {
  return "HTTP/1.1 " + std::string(status) +
         "\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

Parsed<std::unique_ptr<ProbeServer>> ProbeServer::create(const std::string& address,
                                                         os::EventLoop& loop, Readiness readiness) {
  const auto parsed = os::parse_tcp_address(address);
  if (!parsed) return tl::unexpected(address + " is not ADDRESS:PORT or :PORT");
  auto listener = os::listen_tcp(*parsed);
  if (!listener) {
    return tl::unexpected(address + ": nobody can listen: " + listener.error().message());
  }
  const int port = os::local_port(listener->get());
  std::unique_ptr<ProbeServer> server(
      new ProbeServer(*std::move(listener), port, loop, std::move(readiness)));
  ProbeServer* self = server.get();
  const auto added = loop.add(self->listener_.get(), EPOLLIN, [self](auto) { self->welcome(); });
  if (!added) return tl::unexpected(added.error().message());
  return server;
}

ProbeServer::ProbeServer(UniqueFd listener, int port, os::EventLoop& loop, Readiness readiness)
    : listener_(std::move(listener)), port_(port), loop_(loop), readiness_(std::move(readiness)) {}

ProbeServer::~ProbeServer() {
  loop_.remove(listener_.get());
  for (const auto& [fd, visitor] : visitors_) loop_.remove(fd);
}

void ProbeServer::welcome() {
  Result<UniqueFd> accepted = os::accept_tcp(listener_.get());
  if (!accepted) return;
  UniqueFd fd = std::move(*accepted);
  if (visitors_.size() >= kVisitorsMax) dismiss(visitors_.begin()->first);
  const int number = fd.get();
  if (!loop_.add(number, EPOLLIN, [this, number](auto) { read(number); })) return;
  visitors_[number] = {.fd = std::move(fd), .request = ""};
}

void ProbeServer::read(int fd) {
  std::string& request = visitors_[fd].request;
  std::array<char, 1024> buffer;  // NOLINT(*-member-init): it is received into
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return dismiss(fd);
  request.append(buffer.data(), static_cast<std::size_t>(got));
  const bool is_whole = request.find("\r\n\r\n") != std::string::npos;
  if (!is_whole && request.size() <= kRequestMax) return;
  if (is_whole) {
    // It fits into any socket's buffer.
    const std::string text = answer(request, readiness_);
    [[maybe_unused]] const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  }
  dismiss(fd);
}

void ProbeServer::dismiss(int fd) {
  loop_.remove(fd);
  visitors_.erase(fd);
}

std::string ProbeServer::answer(const std::string& request, const Readiness& readiness) {
  const std::string line = request.substr(0, request.find("\r\n"));
  const std::size_t path_at = line.find(' ') + 1;
  const std::string path = line.substr(path_at, line.find(' ', path_at) - path_at);
  if (!line.starts_with("GET ")) return response("405 Method Not Allowed", "GET\n");
  if (path == "/healthz") return response("200 OK", "ok\n");
  if (path != "/readyz") return response("404 Not Found", "/healthz or /readyz\n");
  const std::string why_not = readiness();
  if (why_not.empty()) return response("200 OK", "ok\n");
  return response("503 Service Unavailable", why_not + "\n");
}

}  // namespace nvs::plugin
