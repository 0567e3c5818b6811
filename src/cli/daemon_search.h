// SPDX-License-Identifier: Apache-2.0
// Which daemon a program is to share its GPU through, decided from what answers: the node's before
// the user's own, and one of the user's own to be started only where no other can be meant.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace nvs::cli {

struct DaemonRequest {
  std::optional<std::string> named;  // NVSHARE_FOLDER, if set and not empty
  bool nested = false;               // this runs below another `nvshare run`
  std::string node_folder;
  std::string user_folder;
};

enum class Presence {
  accepts,
  absent,      // no socket
  silent,      // a socket, but nobody accepts: the daemon restarts or was killed
  unreachable  // there may be one, but not for us
};

struct DaemonChoice {
  std::string folder;
  bool start = false;   // nobody is there: start one
  std::string warning;  // empty: none
};

// `probe` looks at the tenants' socket of a folder; `wait_for` does so for a while, because a
// daemon that is restarted comes back within a second.
struct DaemonProbes {
  std::function<Presence(const std::string& folder)> probe;
  std::function<Presence(const std::string& folder)> wait_for;
};

DaemonChoice choose_daemon(const DaemonRequest& request, const DaemonProbes& probes);

// The real ones.
DaemonProbes real_probes();

}  // namespace nvs::cli
