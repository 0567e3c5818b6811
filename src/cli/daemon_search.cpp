// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_search.h"

#include <cerrno>
#include <chrono>
#include <thread>

#include "cli/daemon_folder.h"
#include "os/unix_socket.h"

namespace nvs::cli {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(20);
// The system starts it again after a second, and it looks for GPUs before it listens.
constexpr auto kRestartMax = std::chrono::seconds(5);

Presence probe_folder(const std::string& folder) {
  const auto connection = os::connect_unix(tenant_socket(folder), os::SocketKind::packets);
  if (connection) return Presence::accepts;
  switch (connection.error().sys) {
    case ENOENT:
    case ENOTDIR:
      return Presence::absent;
    case ECONNREFUSED:
    case EAGAIN:
      return Presence::silent;
    default:
      return Presence::unreachable;
  }
}

Presence wait_for_folder(const std::string& folder) {
  const auto end = std::chrono::steady_clock::now() + kRestartMax;
  Presence presence = probe_folder(folder);
  while (presence != Presence::accepts && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLookEvery);
    presence = probe_folder(folder);
  }
  return presence;
}

// The node's daemon, if it is there or will be in a moment. Two daemons on one GPU would not know
// of each other, so a socket that nobody listens on is worth a moment's patience.
Presence find_node_daemon(const std::string& folder, const DaemonProbes& probes) {
  const Presence presence = probes.probe(folder);
  return presence == Presence::silent ? probes.wait_for(folder) : presence;
}

std::string why_not_the_nodes(const std::string& folder, Presence presence) {
  if (presence == Presence::absent) return "";
  const std::string text =
      "the node's daemon " +
      std::string(presence == Presence::silent ? "does not answer on " : "cannot be reached on ") +
      tenant_socket(folder);
  return text + "; a daemon of your own takes its place, which does not know its tenants";
}

}  // namespace

DaemonChoice choose_daemon(const DaemonRequest& request, const DaemonProbes& probes) {
  const bool names_another = request.named && *request.named != request.node_folder;
  if (names_another) {
    const bool there = probes.probe(*request.named) == Presence::accepts;
    return {*request.named, !there, ""};
  }
  const Presence node = find_node_daemon(request.node_folder, probes);
  if (node == Presence::accepts) return {request.node_folder, false, ""};
  if (request.nested && request.named) {
    // What the outer one started waits for this daemon as well, and so belongs together.
    return {request.node_folder, false,
            "the daemon is away (" + tenant_socket(request.node_folder) +
                "); until it is back the program does not share"};
  }
  const bool there = probes.probe(request.user_folder) == Presence::accepts;
  return {request.user_folder, !there, why_not_the_nodes(request.node_folder, node)};
}

DaemonProbes real_probes() { return {probe_folder, wait_for_folder}; }

}  // namespace nvs::cli
