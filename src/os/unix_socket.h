// SPDX-License-Identifier: Apache-2.0
// Unix sockets as this product uses them: packets (SOCK_SEQPACKET) between library and daemon, a
// stream between the daemon and its administrators. No call here raises SIGPIPE, and none that
// sends or receives ever waits.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include <sys/types.h>
#include <sys/un.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::os {

enum class SocketKind { packets, stream };

// The kernel's limit, one byte of which ends the text.
inline constexpr std::size_t kSocketPathMax = sizeof(sockaddr_un::sun_path) - 1;

// A listening socket at that path with exactly these permissions. What a dead process left there
// is replaced; the caller makes sure that it is dead. Errors: ENAMETOOLONG; EEXIST if something
// that is not a socket is in the way; EACCES, ENOENT… of the folder.
Result<UniqueFd> listen_unix(const std::string& path, SocketKind kind, mode_t mode);

// The next connection, non-blocking; EAGAIN if there is none.
Result<UniqueFd> accept_unix(int listener);

// A blocking connection. Errors: ENOENT and ECONNREFUSED if nobody listens, EACCES, ENAMETOOLONG.
Result<UniqueFd> connect_unix(const std::string& path, SocketKind kind);

// Two ends of a connection, non-blocking.
struct SocketPair {
  UniqueFd a, b;
};
Result<SocketPair> make_pair(SocketKind kind);

// The process at the other end, as it was when it connected; 0 if it is not to be seen from here.
pid_t peer_pid(int fd);

enum class Transfer {
  done,
  not_now,  // the buffer is full, or there is nothing to read
  closed,   // by the other side, or broken
};
struct Moved {
  Transfer outcome;
  std::size_t bytes;  // 0 unless done
};
// The bytes of the packet may be more than `size`: the rest is lost. An empty packet cannot be told
// from the end of the connection, and is reported as closed. Descriptors that come with it are
// closed by the kernel.
Moved receive_packet(int fd, void* data, std::size_t size);
Moved receive_bytes(int fd, void* data, std::size_t size);
// A packet goes as a whole or not at all; of a stream some bytes may go.
Moved send(int fd, const void* data, std::size_t size);

// A packet with a descriptor, of which the other side gets a copy that is closed on exec.
Moved send_with_file(int fd, const void* data, std::size_t size, int file);
// `file` is empty if the packet came without one. If it came with several, this is the first, and
// the rest are closed.
Moved receive_with_file(int fd, void* data, std::size_t size, UniqueFd& file);

// The next packet, which stays where it is, and whether it brings descriptors. None is made here: a
// stranger's may take as long to close as that one likes.
Moved peek_packet(int fd, void* data, std::size_t size, bool& brings_files);
// Copies of the first two that it brings, empty where there is none, or the system has no number
// for it. If there is a second one, or none, the packet must not be dropped: those that are nowhere
// else are closed with it, there and then. They go to ForeignFile, and so does the socket.
using FirstFiles = std::array<UniqueFd, 2>;
FirstFiles peek_files(int fd);
// Takes it away.
void drop_packet(int fd);

}  // namespace nvs::os
