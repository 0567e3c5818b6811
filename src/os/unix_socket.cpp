// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/passed_file.h"

namespace nvs::os {
namespace {

int type_of(SocketKind kind) { return kind == SocketKind::packets ? SOCK_SEQPACKET : SOCK_STREAM; }

Result<sockaddr_un> address_of(const std::string& path) {
  if (path.size() > kSocketPathMax) {
    return tl::unexpected(Error::from_errno(ENAMETOOLONG, "path of a socket"));
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

Result<void> remove_stale(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return tl::unexpected(Error::from_errno(errno, "look at the path of a socket"));
  }
  if (!S_ISSOCK(status.st_mode)) {
    return tl::unexpected(Error::from_errno(EEXIST, "something that is not a socket is there"));
  }
  if (::unlink(path.c_str()) != 0) {
    return tl::unexpected(Error::from_errno(errno, "remove an old socket"));
  }
  return {};
}

Moved outcome_of(ssize_t result, int error) {
  if (result >= 0) return {Transfer::done, static_cast<std::size_t>(result)};
  const bool later = error == EAGAIN || error == EWOULDBLOCK || error == EINTR || error == ENOBUFS;
  return {later ? Transfer::not_now : Transfer::closed, 0};
}

Moved unless_ended(Moved moved) {
  const bool ended = moved.outcome == Transfer::done && moved.bytes == 0;
  return ended ? Moved{Transfer::closed, 0} : moved;
}

Moved receive(int fd, void* data, std::size_t size, int flags) {
  const ssize_t result = ::recv(fd, data, size, MSG_DONTWAIT | flags);
  return unless_ended(outcome_of(result, errno));
}

// Calls without libc give a negative errno.
Moved outcome_of_call(long result) {
  return outcome_of(result, result < 0 ? static_cast<int>(-result) : 0);
}

}  // namespace

Result<UniqueFd> listen_unix(const std::string& path, SocketKind kind, mode_t mode) {
  const sockaddr_un address = NVS_TRY(address_of(path));
  NVS_TRY(remove_stale(path));
  UniqueFd fd{::socket(AF_UNIX, type_of(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "socket"));
  if (::bind(fd.get(), generic(address), sizeof address) != 0) {
    return tl::unexpected(Error::from_errno(errno, "bind"));
  }
  // Nobody can connect before listen: there is no moment with the wrong permissions.
  if (::chmod(path.c_str(), mode) != 0) return tl::unexpected(Error::from_errno(errno, "chmod"));
  if (::listen(fd.get(), SOMAXCONN) != 0) return tl::unexpected(Error::from_errno(errno, "listen"));
  return fd;
}

Result<UniqueFd> accept_unix(int listener) {
  UniqueFd fd{::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "accept"));
  return fd;
}

Result<UniqueFd> connect_unix(const std::string& path, SocketKind kind) {
  const sockaddr_un address = NVS_TRY(address_of(path));
  UniqueFd fd{::socket(AF_UNIX, type_of(kind) | SOCK_CLOEXEC, 0)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "socket"));
  if (::connect(fd.get(), generic(address), sizeof address) != 0) {
    return tl::unexpected(Error::from_errno(errno, "connect"));
  }
  return fd;
}

Result<SocketPair> make_pair(SocketKind kind) {
  int ends[2];
  if (::socketpair(AF_UNIX, type_of(kind) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return tl::unexpected(Error::from_errno(errno, "socketpair"));
  }
  return SocketPair{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

pid_t peer_pid(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

Moved receive_packet(int fd, void* data, std::size_t size) {
  return receive(fd, data, size, MSG_TRUNC);
}

Moved receive_bytes(int fd, void* data, std::size_t size) { return receive(fd, data, size, 0); }

Moved send(int fd, const void* data, std::size_t size) {
  const ssize_t result = ::send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  return outcome_of(result, errno);
}

Moved send_with_file(int fd, const void* data, std::size_t size, int file) {
  return outcome_of_call(send_packet_with_file(fd, data, size, file));
}

Moved receive_with_file(int fd, void* data, std::size_t size, UniqueFd& file) {
  int number = -1;
  const long result = receive_packet_with_file(fd, data, size, number);
  file.reset(number);
  return unless_ended(outcome_of_call(result));
}

Moved peek_packet(int fd, void* data, std::size_t size, bool& brings_files) {
  iovec part{data, size};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const ssize_t result = ::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC);
  brings_files = result >= 0 && (message.msg_flags & MSG_CTRUNC) != 0;
  return unless_ended(outcome_of(result, errno));
}

FirstFiles peek_files(int fd) {
  FirstFiles files;
  alignas(cmsghdr) char buffer[CMSG_SPACE(std::tuple_size_v<FirstFiles> * sizeof(int))];
  char first = 0;
  iovec part{&first, sizeof first};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = buffer;
  message.msg_controllen = sizeof buffer;
  if (::recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) return files;
  const cmsghdr* head = CMSG_FIRSTHDR(&message);
  if (head == nullptr || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
    return files;
  }
  const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
  for (std::size_t i = 0; i < std::min(count, files.size()); ++i) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(head) + i * sizeof number, sizeof number);
    files[i].reset(number);
  }
  return files;
}

void drop_packet(int fd) {
  char first = 0;
  [[maybe_unused]] const Moved moved = receive(fd, &first, sizeof first, 0);
}

}  // namespace nvs::os
