// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/programs/passing.h"

#include <cstring>
#include <stdexcept>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace nvs::faults {
namespace {

struct Address {
  explicit Address(const std::string& name) {
    at.sun_family = AF_UNIX;
    if (name.size() + 1 > sizeof at.sun_path) throw std::runtime_error("a long name");
    std::memcpy(at.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&at); }
  sockaddr_un at{};
  socklen_t size = 0;
};

// A message of one byte with room for one descriptor.
struct Message {
  Message() {
    part = {&byte, 1};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = room;
    header.msg_controllen = sizeof room;
  }
  char byte = 'x';
  iovec part{};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
};

int make_socket() {
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) throw std::runtime_error("no socket");
  return socket;
}

}  // namespace

std::string text_of(const CUipcMemHandle& handle) {
  std::string text;
  for (const char byte : handle.reserved) {
    text += static_cast<char>('a' + ((byte >> 4) & 15));
    text += static_cast<char>('a' + (byte & 15));
  }
  return text;
}

CUipcMemHandle handle_of(const std::string& text) {
  CUipcMemHandle handle{};
  if (text.size() != 2 * sizeof handle.reserved) throw std::runtime_error("no handle");
  const char* at = text.data();
  for (char& byte : handle.reserved) {
    byte = static_cast<char>(((at[0] - 'a') << 4) | (at[1] - 'a'));
    at += 2;
  }
  return handle;
}

void send_file(const std::string& name, int file) {
  const int socket = make_socket();
  const Address to(name);
  Message message;
  message.header.msg_name = const_cast<sockaddr*>(to.generic());
  message.header.msg_namelen = to.size;
  cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof file);
  std::memcpy(CMSG_DATA(control), &file, sizeof file);
  if (::sendmsg(socket, &message.header, 0) != 1) throw std::runtime_error("cannot send");
  ::close(socket);
}

int passing::listen_at(const std::string& name) {
  const int socket = make_socket();
  const Address at(name);
  if (::bind(socket, at.generic(), at.size) != 0) throw std::runtime_error("cannot bind");
  return socket;
}

int passing::receive(int socket) {
  Message message;
  const bool is_there = ::recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC) == 1;
  const cmsghdr* const control = CMSG_FIRSTHDR(&message.header);
  ::close(socket);
  if (!is_there || control == nullptr) throw std::runtime_error("no descriptor came");
  int file = -1;
  std::memcpy(&file, CMSG_DATA(control), sizeof file);
  return file;
}

}  // namespace nvs::faults
