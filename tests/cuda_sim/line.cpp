// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_sim/line.h"

#include <array>
#include <cstring>
#include <stdexcept>

#include <poll.h>
#include <sys/socket.h>

namespace nvs::sim_test {
namespace {

// Far longer than anything takes on the slowest machine; only a broken test waits for it.
constexpr int kPatienceMs = 45'000;

}  // namespace

std::pair<Line, Line> Line::make() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw std::runtime_error("no socket pair");
  }
  return {Line(ends[0]), Line(ends[1])};
}

bool Line::try_tell(std::string_view text, int fd) { return send(text, fd, MSG_DONTWAIT); }

bool Line::send(std::string_view text, int fd, int flags) {
  iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  return ::sendmsg(socket_.get(), &header, flags | MSG_NOSIGNAL) >= 0;
}

Message Line::hear() {
  pollfd ready{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, kPatienceMs) <= 0) return {};
  return receive();
}

Message Line::receive() {
  std::array<char, 4096> buffer{};
  iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
  int fd = -1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof fd)> control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t size = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size <= 0) return {};
  const cmsghdr* rights = CMSG_FIRSTHDR(&header);
  if (rights != nullptr) std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  return {.text = {buffer.data(), static_cast<std::size_t>(size)}, .fd = UniqueFd(fd)};
}

void Line::expect(std::string_view text) {
  const std::string heard = hear().text;
  if (heard == text) return;
  throw std::runtime_error("waited for \"" + std::string(text) + "\", heard \"" + heard + "\"");
}

void Line::check_size(const std::string& text, std::size_t size) {
  if (text.size() != size) throw std::runtime_error("heard a message of the wrong size");
}

}  // namespace nvs::sim_test
