// SPDX-License-Identifier: Apache-2.0
// Sockets and polling by system calls alone, for code that lives in other people's processes; see
// linux_calls.h.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "os/linux_calls.h"

namespace nvs::os {

// A socket that is closed on exec and never makes anybody wait.
inline long packet_socket() {
  return system_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}
inline long connect_socket(int fd, const sockaddr_un& address) {
  return system_call(SYS_connect, fd, argument(&address), sizeof address);
}
inline long send_packet(int fd, const void* data, size_t size) {
  return system_call(SYS_sendto, fd, argument(data), argument(size), MSG_DONTWAIT | MSG_NOSIGNAL);
}
inline long receive_packet(int fd, void* data, size_t size) {
  return system_call(SYS_recvfrom, fd, argument(data), argument(size), MSG_DONTWAIT | MSG_TRUNC);
}

// Until the socket can be read, or for `timeout_ns`; no socket if negative.
inline long wait_readable(int fd, int64_t timeout_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  pollfd wanted{fd, POLLIN, 0};
  const timespec timeout{timeout_ns / kSecond, timeout_ns % kSecond};
  return system_call(SYS_ppoll, argument(&wanted), 1, argument(&timeout), 0, 0);
}

// What file a number stands for now; all zero if none. Programs close numbers that are not theirs.
struct FileId {
  uint64_t device;
  uint64_t inode;
  bool operator==(const FileId&) const = default;
};
inline FileId file_behind(int fd) {
  struct stat facts {};
  if (system_call(SYS_fstat, fd, argument(&facts)) != 0) return {};
  return {facts.st_dev, facts.st_ino};
}

// Moves a descriptor out of the range that programs count on, if it can.
inline long move_up(int fd, int lowest) {
  const long moved = system_call(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest);
  if (moved < 0) return fd;
  close_file(fd);
  return moved;
}

// Blocks every signal for the calling thread, or puts the mask back. Not those two that glibc keeps
// for itself: setuid() in another thread waits until every thread has taken one of them.
inline void block_signals(uint64_t& before) {
  constexpr int kCancel = 32;
  constexpr int kSetId = 33;
  const uint64_t all = ~((uint64_t{1} << (kCancel - 1)) | (uint64_t{1} << (kSetId - 1)));
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, argument(&all), argument(&before), sizeof all);
}
inline void restore_signals(uint64_t before) {
  system_call(SYS_rt_sigprocmask, SIG_SETMASK, argument(&before), 0, sizeof before);
}

inline void name_thread(const char* name) { system_call(SYS_prctl, PR_SET_NAME, argument(name)); }

}  // namespace nvs::os
