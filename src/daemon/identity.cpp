// SPDX-License-Identifier: Apache-2.0
#include "daemon/identity.h"

#include <array>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nvs::daemon {
namespace {

// Linux 6.5; the headers may be older.
constexpr int kPeerPidfd = 77;
constexpr std::size_t kProcFileMax = std::size_t{256} << 10U;
constexpr std::size_t kShortId = 12;
// Those that have ended go at once, unless a debugger holds them.
constexpr std::size_t kThreadsAskedMax = 256;

Result<std::string> read_proc_file(const std::string& path) {
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "a file of the peer's process"));
  std::string text;
  std::array<char, 4096> buffer;  // NOLINT(*-member-init): read() fills it
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(Error::from_errno(errno, "a file of the peer's process"));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kProcFileMax)
      return tl::unexpected(Error{Errc::kLimit, 0, "a file of the peer's process is too long"});
  }
}

// A kernel that has no cgroups has no such file, and no containers.
Result<std::string> read_cgroups(const std::string& process) {
  Result<std::string> text = read_proc_file(process + "/cgroup");
  if (!text && text.error().sys == ENOENT) return std::string();
  return text;
}

// Nothing if the thread was about to end: cgroups of version 1 have it in their root from then on,
// as if it were in no container. `thread` is a folder of /proc; a process's is its main thread's.
Result<std::optional<std::string>> read_cgroups_in_life(const std::string& thread) {
  std::string cgroups = NVS_TRY(read_cgroups(thread));
  const std::string stat = NVS_TRY(read_proc_file(thread + "/stat"));  // after it: nobody revives
  if (is_ending(stat)) return std::nullopt;
  return cgroups;
}

// A process lives on after its main thread, in its others.
Result<std::string> read_cgroups_of_any_thread(const std::string& process) {
  if (auto main = NVS_TRY(read_cgroups_in_life(process))) return std::move(*main);
  std::error_code error;
  std::filesystem::directory_iterator threads(process + "/task", error);
  for (std::size_t asked = 0; !error && asked < kThreadsAskedMax; ++asked) {
    if (threads == std::filesystem::directory_iterator()) break;
    auto cgroups = read_cgroups_in_life(threads->path());  // an error: it is gone
    if (cgroups && *cgroups) return std::move(**cgroups);
    threads.increment(error);
  }
  return tl::unexpected(Error{Errc::kNotFound, 0, "the peer's process has ended"});
}

Result<std::uint64_t> read_start(const std::string& process) {
  const std::string stat = NVS_TRY(read_proc_file(process + "/stat"));
  const std::optional<std::uint64_t> ticks = start_time(stat);
  if (!ticks)
    return tl::unexpected(Error{Errc::kInvalidInput, 0, "/proc/PID/stat has another form"});
  return *ticks;
}

std::string hex16(std::uint64_t number) {
  std::string text(16, '0');
  for (std::size_t place = text.size(); place-- > 0; number >>= 4U)
    text[place] = "0123456789abcdef"[number & 15U];
  return text;
}

std::string process_key(pid_t pid, std::uint64_t start) {
  return "process:" + std::to_string(pid) + ":" + std::to_string(start);
}

}  // namespace

// The kernel's own descriptor for the process that connected is the best. Only a kernel that does
// not know the question is asked for one by number, which may be somebody else's by now. Without
// either, start times must do.
Result<UniqueFd> peer_pidfd(int socket_fd, pid_t pid) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (::getsockopt(socket_fd, SOL_SOCKET, kPeerPidfd, &fd, &size) == 0) return UniqueFd(fd);
  if (errno != ENOPROTOOPT) return tl::unexpected(Error::from_errno(errno, "SO_PEERPIDFD"));
  UniqueFd opened{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
  if (opened || errno == ENOSYS || errno == EPERM) return opened;  // EPERM: a seccomp filter's no
  return tl::unexpected(Error::from_errno(errno, "pidfd_open for the peer"));
}

bool has_ended(const UniqueFd& pidfd) {
  pollfd poll_fd{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&poll_fd, 1, 0) != 0;
}

Result<Peer> identify(int socket_fd, std::uint64_t run, const char* proc_root) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket_fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
    return tl::unexpected(Error::from_errno(errno, "SO_PEERCRED"));
  if (credentials.pid <= 0)
    return tl::unexpected(
        Error{Errc::kNotFound, 0,
              "the peer is in a pid namespace that the daemon does not see (use the host's)"});

  Peer peer;
  peer.pid = credentials.pid;
  peer.uid = credentials.uid;
  peer.gid = credentials.gid;
  peer.pidfd = NVS_TRY(peer_pidfd(socket_fd, peer.pid));
  const std::string root(proc_root);
  const std::string process = root + "/" + std::to_string(peer.pid);
  const std::uint64_t start = NVS_TRY(read_start(process));
  const std::string cgroups = NVS_TRY(read_cgroups_of_any_thread(process));
  const std::string own_cgroups = NVS_TRY(read_cgroups(root + "/self"));
  // What was read is about the peer only if it was there all the time.
  const bool gone = peer.pidfd ? has_ended(peer.pidfd) : NVS_TRY(read_start(process)) != start;
  if (gone) return tl::unexpected(Error{Errc::kNotFound, 0, "the peer's process has ended"});

  peer.slice_user = slice_user_of_process(cgroups);
  if (const auto path = container_path(cgroups, own_cgroups)) {
    peer.in_container = true;
    peer.container = container_id(*path).substr(0, kShortId);
    peer.pod_uid = pod_uid(*path);
    peer.slice_user = slice_user_of_container(*path);
    peer.tenant_key = "container:" + *path;
  } else if (run != 0) {
    peer.tenant_key = "run:" + std::to_string(peer.uid) + ":" + hex16(run);
  } else {
    peer.tenant_key = process_key(peer.pid, start);
  }
  return peer;
}

Result<Peer> identify_self(const char* proc_root) {
  Peer self;
  self.pid = ::getpid();
  self.uid = ::geteuid();
  self.gid = ::getegid();
  const std::uint64_t start = NVS_TRY(read_start(std::string(proc_root) + "/self"));
  self.tenant_key = process_key(self.pid, start);
  return self;
}

bool may_administer(const Peer& peer, const Peer& self) {
  return may_speak_for_kubelet(peer, self) && !peer.in_container;
}

bool may_speak_for_kubelet(const Peer& peer, const Peer& self) {
  return peer.uid == 0 || peer.uid == self.uid;
}

}  // namespace nvs::daemon
