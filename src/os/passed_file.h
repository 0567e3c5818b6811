// SPDX-License-Identifier: Apache-2.0
// Descriptors that go with packets (SCM_RIGHTS), by system calls alone; see linux_calls.h.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include "os/linux_calls.h"

namespace nvs::os {

// A descriptor that goes with a packet. The buffer is aligned as the kernel wants it, and its
// length leaves room for one descriptor alone: of several, the kernel closes the rest.
struct PassedFile {
  static constexpr size_t kLength = CMSG_LEN(sizeof(int));
  alignas(cmsghdr) char buffer[CMSG_SPACE(sizeof(int))] = {};
};
// A packet, with a descriptor that the other side gets a copy of. Never waits.
inline long send_packet_with_file(int fd, const void* data, size_t size, int file) {
  PassedFile passed;
  const cmsghdr head{PassedFile::kLength, SOL_SOCKET, SCM_RIGHTS};
  __builtin_memcpy(passed.buffer, &head, sizeof head);
  __builtin_memcpy(passed.buffer + sizeof head, &file, sizeof file);
  iovec part{const_cast<void*>(data), size};
  const msghdr message{.msg_name = nullptr,
                       .msg_namelen = 0,
                       .msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = passed.buffer,
                       .msg_controllen = PassedFile::kLength,
                       .msg_flags = 0};
  return system_call(SYS_sendmsg, fd, argument(&message), MSG_DONTWAIT | MSG_NOSIGNAL);
}
// Never waits; the result is the length of the packet, which may be more than `size`. `file` is the
// caller's to close if the packet came with one, else -1.
inline long receive_packet_with_file(int fd, void* data, size_t size, int& file) {
  PassedFile passed;
  iovec part{data, size};
  msghdr message{.msg_name = nullptr,
                 .msg_namelen = 0,
                 .msg_iov = &part,
                 .msg_iovlen = 1,
                 .msg_control = passed.buffer,
                 .msg_controllen = PassedFile::kLength,
                 .msg_flags = 0};
  constexpr int kFlags = MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC;
  const long result = system_call(SYS_recvmsg, fd, argument(&message), kFlags);
  file = -1;
  if (result < 0 || message.msg_controllen < PassedFile::kLength) return result;
  cmsghdr head{};
  __builtin_memcpy(&head, passed.buffer, sizeof head);
  const bool is_file = head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_RIGHTS &&
                       head.cmsg_len >= PassedFile::kLength;
  if (is_file) __builtin_memcpy(&file, passed.buffer + sizeof head, sizeof file);
  return result;
}

}  // namespace nvs::os
