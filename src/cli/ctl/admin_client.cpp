// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/admin_client.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <poll.h>

#include "cli/ctl/exit_codes.h"
#include "cli/daemon_folder.h"
#include "os/clock.h"
#include "os/unix_socket.h"

namespace nvs::cli {
namespace {

// The answer to `trace` has up to 20,000 intervals of some 90 bytes; a status may have thousands of
// tenants.
constexpr std::size_t kAnswerBytesMax = std::size_t{256} << 20U;
constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr std::int64_t kNsPerMs = 1'000'000;

bool nobody_is_there(int error) { return error == ENOENT || error == ENOTDIR; }

std::string reason(const FailedSocket& socket) {
  return socket.path + " (" + std::strerror(socket.error) + ")";
}

std::string advice(int error) {
  switch (error) {
    case EACCES:
    case EPERM:
      return "it belongs to another user: become that user (the node's daemon is root's: sudo), or "
             "name your own with --folder";
    case ECONNREFUSED:
      return "the daemon has ended or is being restarted: try again, or see its log";
    case ENAMETOOLONG:
      return "name a folder with a shorter path";
    default:
      return "start it (systemctl start nvshare-scheduler), or a program with `nvshare run -- "
             "COMMAND`, or name the daemon's folder with --folder";
  }
}

EarlyExit no_answer(const std::string& socket, const std::string& why) {
  return {kCtlFailed, "no answer on " + socket + ": " + why};
}

// Waits for one direction until the deadline.
bool wait_for(int fd, short events, Instant deadline) {
  const std::int64_t left = (deadline - os::monotonic_now()).ns();
  if (left <= 0) return false;
  pollfd what{fd, events, 0};
  const int result = ::poll(&what, 1, static_cast<int>(left / kNsPerMs) + 1);
  return result > 0 || (result < 0 && errno == EINTR);
}

}  // namespace

EarlyExit no_daemon(const FailedSocket& node_or_named, const FailedSocket* own) {
  std::string text = "no daemon at " + reason(node_or_named);
  if (own != nullptr) text += " nor at " + reason(*own);
  // A socket that is there says more than one that is not.
  const bool own_says_more = own != nullptr && nobody_is_there(node_or_named.error);
  const int error = own_says_more ? own->error : node_or_named.error;
  const bool denied = error == EACCES || error == EPERM;
  return {denied ? kCtlRefused : kCtlFailed, text + "; " + advice(error)};
}

Outcome<AdminClient> AdminClient::connect(const std::string& folder) {
  const char* variable = std::getenv("NVSHARE_FOLDER");
  const std::string named = !folder.empty() ? folder : variable == nullptr ? "" : variable;
  const std::string first = admin_socket(named.empty() ? node_folder() : named);
  auto fd = os::connect_unix(first, os::SocketKind::stream);
  if (fd) return AdminClient(std::move(*fd), first);
  const FailedSocket failed{first, fd.error().sys};
  if (!named.empty()) return tl::unexpected(no_daemon(failed, nullptr));
  const std::string own_place = own_folder(Door::administrators);
  if (const auto why = why_not_ours(own_place)) {
    return tl::unexpected(EarlyExit{kCtlRefused, "no daemon at " + reason(failed) + ", and " +
                                                     own_place + " is not to be trusted: " + *why +
                                                     "; name a folder with --folder"});
  }
  const std::string second = admin_socket(own_place);
  fd = os::connect_unix(second, os::SocketKind::stream);
  if (fd) return AdminClient(std::move(*fd), second);
  const FailedSocket own{second, fd.error().sys};
  return tl::unexpected(no_daemon(failed, &own));
}

Outcome<std::string> AdminClient::ask(const std::string& request, Duration patience) {
  const Instant deadline = os::monotonic_now() + patience;
  const auto too_late = [&] {
    return tl::unexpected(
        no_answer(socket_, "the daemon is there but does not answer; see its log"));
  };
  const std::string line = request + "\n";
  for (std::string_view rest = line; !rest.empty();) {
    const os::Moved moved = os::send(fd_.get(), rest.data(), rest.size());
    // What the daemon said before it closed the connection may still be read.
    if (moved.outcome == os::Transfer::closed) break;
    rest.remove_prefix(moved.bytes);
    if (moved.bytes == 0 && !wait_for(fd_.get(), POLLOUT, deadline)) return too_late();
  }
  std::array<char, kReadBytes> buffer;
  std::size_t searched = 0;
  while (true) {
    const std::size_t end = rest_.find('\n', searched);
    if (end != std::string::npos) {
      std::string answer = rest_.substr(0, end);
      rest_.erase(0, end + 1);
      return answer;
    }
    searched = rest_.size();
    if (searched > kAnswerBytesMax) {
      return tl::unexpected(no_answer(socket_, "what comes is longer than any answer"));
    }
    const os::Moved moved = os::receive_bytes(fd_.get(), buffer.data(), buffer.size());
    if (moved.outcome == os::Transfer::closed) {
      return tl::unexpected(no_answer(socket_, "the daemon closed the connection; see its log"));
    }
    rest_.append(buffer.data(), moved.bytes);
    if (moved.bytes == 0 && !wait_for(fd_.get(), POLLIN, deadline)) return too_late();
  }
}

}  // namespace nvs::cli
