// SPDX-License-Identifier: Apache-2.0
#include "daemon/visitors.h"

#include <utility>

#include "base/log.h"
#include "daemon/identity.h"
#include "os/unix_socket.h"

namespace nvs::daemon {

Visitors::~Visitors() {
  for (const auto& [pid, pidfd] : pidfds_) loop_.remove(pidfd.get());
}

void Visitors::add(int socket_fd) {
  const pid_t pid = os::peer_pid(socket_fd);
  if (pid <= 0) return;
  const auto known = pidfds_.find(pid);
  if (known != pidfds_.end()) {
    // If that one has ended, its number is somebody else's now, and the loop has yet to say so.
    if (!has_ended(known->second)) return;
    forget(pid);
  }
  if (pidfds_.size() >= visitors_max_) return;
  Result<UniqueFd> pidfd = peer_pidfd(socket_fd, pid);
  if (!pidfd || !*pidfd) return;  // it has ended, or the kernel has none
  const int fd = pidfd->get();
  const auto watched = loop_.add(fd, EPOLLIN, [this, pid](std::uint32_t) { forget(pid); });
  if (!watched) return;
  pidfds_.emplace(pid, std::move(*pidfd));
  log(Level::debug, "a process has come", {{"pid", pid}, {"processes", pidfds_.size()}});
}

void Visitors::forget(pid_t pid) {
  const auto found = pidfds_.find(pid);
  loop_.remove(found->second.get());
  pidfds_.erase(found);
  log(Level::debug, "a process has ended", {{"pid", pid}, {"processes", pidfds_.size()}});
}

}  // namespace nvs::daemon
