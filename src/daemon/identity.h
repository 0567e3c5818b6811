// SPDX-License-Identifier: Apache-2.0
// Who is at the other end of a socket. The kernel says it, never the peer: the process by
// SO_PEERCRED and a pidfd, the tenant by the cgroup that the process is in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::daemon {

struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  // Readable once the process has ended. Empty on kernels before 5.3.
  UniqueFd pidfd;
  // Equal for all processes of a tenant, and for nobody else:
  //   container:PATH    the cgroup of the container, as the daemon sees it
  //   run:UID:RUN       one `nvshare run`, outside of containers
  //   process:PID:START
  std::string tenant_key;
  std::string container;  // the first 12 digits of its id, or empty
  std::string pod_uid;    // of the pod that the container is in, by its cgroup; or empty
  // In a container that the daemon itself is not in.
  bool in_container = false;
  // Whose login or service manager the process comes from, by the slice that it is in: whatever it
  // runs in there, as whichever of the uids that are lent to him.
  std::optional<uid_t> slice_user;
};

// The peer of a connected Unix socket. `run` is what it said in its Hello. Fails if the process
// has ended meanwhile, or cannot be seen from the daemon's pid namespace.
Result<Peer> identify(int socket_fd, std::uint64_t run, const char* proc_root = "/proc");

// The process at the other end, pinned: readable once it has ended. Empty where the kernel has no
// pidfds (before 5.3); an error if the process is gone. `pid` is what SO_PEERCRED says.
Result<UniqueFd> peer_pidfd(int socket_fd, pid_t pid);
bool has_ended(const UniqueFd& pidfd);

// This process, for may_administer.
Result<Peer> identify_self(const char* proc_root = "/proc");

// Root and the daemon's own user may, but not from another container: root in there is uid 0 too.
bool may_administer(const Peer& peer, const Peer& self);

// Root and the daemon's own user, in a container too: who has the plugin's folder was given it.
bool may_speak_for_kubelet(const Peer& peer, const Peer& self);

// The path, in the daemon's view, of the outermost container that the process of `cgroups` (the
// text of /proc/PID/cgroup) is in and the process of `own_cgroups` is not; nothing if there is
// none.
std::optional<std::string> container_path(std::string_view cgroups, std::string_view own_cgroups);

// The 64 digits of a container's id in the last part of its path; empty if there are none.
std::string_view container_id(std::string_view path);

// The uid of the Kubernetes pod whose cgroup is part of the path of a container; empty if none is.
std::string pod_uid(std::string_view path);

// The user in whose slice the container of this path is, or the process of `cgroups`, which is in
// no container; nothing if it is in none. Below their own slices users can give cgroups any name,
// and above them none. Slices inside of a container are its own affair.
std::optional<uid_t> slice_user_of_container(std::string_view path);
std::optional<uid_t> slice_user_of_process(std::string_view cgroups);

// When the process started, in ticks since the machine's start, from the text of /proc/PID/stat.
std::optional<std::uint64_t> start_time(std::string_view stat);

// Whether the thread of this text (of /proc/PID/task/TID/stat; the main one's is the process's) has
// ended, or has begun to; a text of another form is one of a thread that has.
bool is_ending(std::string_view stat);

}  // namespace nvs::daemon
