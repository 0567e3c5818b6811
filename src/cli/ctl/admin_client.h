// SPDX-License-Identifier: Apache-2.0
// A connection to a daemon's admin socket: a line goes out, a line comes back.
#pragma once

#include <string>

#include "base/instant.h"
#include "base/unique_fd.h"
#include "cli/early_exit.h"

namespace nvs::cli {

inline constexpr Duration kAnswerMax = Duration::from_s(5);

class AdminClient {
 public:
  // `folder` is the one that was named; if it is empty, NVSHARE_FOLDER, the node's and the user's
  // own are tried in this order. The error says which socket, why, and what to do.
  static Outcome<AdminClient> connect(const std::string& folder);

  // The answer to one request, without its line end.
  Outcome<std::string> ask(const std::string& request, Duration patience = kAnswerMax);

  const std::string& socket() const { return socket_; }

 private:
  AdminClient(UniqueFd fd, std::string socket) : fd_(std::move(fd)), socket_(std::move(socket)) {}

  UniqueFd fd_;
  std::string socket_;
  std::string rest_;  // received and not yet asked for
};

// The sockets that could not be connected to, as a message; the last one's reason decides what is
// advised.
struct FailedSocket {
  std::string path;
  int error;
};
EarlyExit no_daemon(const FailedSocket& node_or_named, const FailedSocket* own);

}  // namespace nvs::cli
