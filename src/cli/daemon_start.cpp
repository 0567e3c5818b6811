// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_start.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "cli/daemon_folder.h"
#include "cli/detached_process.h"
#include "cli/target.h"
#include "os/unix_socket.h"

namespace nvs::cli {
namespace {

using Clock = std::chrono::steady_clock;

// It looks for GPUs before it listens, and a driver that nobody keeps loaded takes seconds for
// each.
constexpr auto kStartMax = std::chrono::seconds(30);
// Ours may have ended because another one holds the folder: that one listens soon.
constexpr auto kOtherMax = std::chrono::seconds(1);
constexpr auto kProbeEvery = std::chrono::milliseconds(5);
constexpr off_t kLogBytesMax = 1 << 20;
constexpr std::size_t kLogBytesShown = 4096;
constexpr std::size_t kLogLinesShown = 8;
// Ours to give, and not meant for the daemon: what loads the library, and whatever ties it to a
// service manager that started the caller.
constexpr const char* kNotInherited[] = {"LD_PRELOAD",    "NVSHARE_RUN",   "NVSHARE_PRIORITY",
                                         "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID",
                                         "LISTEN_FDS",    "LISTEN_PID",    "JOURNAL_STREAM"};

std::string because(int error) { return std::string(": ") + std::strerror(error); }

tl::unexpected<EarlyExit> bad_folder(const std::string& folder, const std::string& why) {
  return failure("cannot use the folder " + folder + " for a daemon: " + why +
                 "; remove it, or name another one in NVSHARE_FOLDER");
}

Outcome<UniqueFd> open_log(const std::string& folder) {
  const std::string path = folder + "/" + kDaemonLog;
  UniqueFd fd{::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (!fd) return failure("cannot write the daemon's log " + path + because(errno));
  struct stat found {};
  if (::fstat(fd.get(), &found) == 0 && found.st_size > kLogBytesMax &&
      ::ftruncate(fd.get(), 0) != 0) {
    return failure("cannot shorten the daemon's log " + path + because(errno));
  }
  return fd;
}

std::string end_of_log(const std::string& folder) {
  const std::string path = folder + "/" + kDaemonLog;
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) return "";
  const auto shown = static_cast<off_t>(kLogBytesShown);
  std::string text(kLogBytesShown, '\0');
  const ssize_t bytes = ::pread(fd.get(), text.data(), text.size(),
                                found.st_size > shown ? found.st_size - shown : 0);
  text.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return last_lines(text, kLogLinesShown);
}

EarlyExit did_not_start(const std::string& folder, const std::string& what) {
  const std::string log = end_of_log(folder);
  std::string text = "no daemon to share the GPU through: " + std::string(kDaemonName) + " " +
                     what + " " + tenant_socket(folder) +
                     "; run the program without one with --no-daemon";
  text += log.empty() ? ". Its log " + folder + "/" + kDaemonLog + " is empty"
                      : ". Its log " + folder + "/" + kDaemonLog + " ends:\n" + log;
  return {kExitFailed, text};
}

bool has_ended(const UniqueFd& pidfd) {
  if (!pidfd) return false;
  pollfd what{pidfd.get(), POLLIN, 0};
  return ::poll(&what, 1, 0) > 0;
}

}  // namespace

std::string last_lines(const std::string& text, std::size_t lines_max) {
  std::size_t end = text.size();
  while (end > 0 && text[end - 1] == '\n') --end;
  std::string lines;
  for (std::size_t count = 0; count < lines_max && end > 0; ++count) {
    const std::size_t before = text.rfind('\n', end - 1);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    lines = "  " + text.substr(begin, end - begin) + (lines.empty() ? "" : "\n" + lines);
    end = begin == 0 ? 0 : begin - 1;
  }
  return lines;
}

Outcome<std::string> find_daemon(const std::string& program_folder,
                                 const std::optional<std::string>& search_path) {
  const std::string beside = program_folder + "/" + kDaemonName;
  if (::access(beside.c_str(), X_OK) == 0) return beside;
  const Outcome<std::string> found = find_program(kDaemonName, search_path);
  if (found) return found;
  return failure("no daemon runs on this machine, and there is no " + std::string(kDaemonName) +
                 " beside this program in " + program_folder +
                 " or in PATH to start one; install it, or run the program without one with "
                 "--no-daemon");
}

Outcome<void> check_folder(const std::string& folder) {
  if (const auto why = why_not_ours(folder)) return bad_folder(folder, *why);
  return {};
}

Outcome<void> prepare_folder(const std::string& folder) {
  if (!folder.starts_with('/')) return bad_folder(folder, "it is not an absolute path");
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure("cannot make the folder " + folder + because(errno) +
                   "; name another one in NVSHARE_FOLDER");
  }
  return check_folder(folder);
}

Outcome<void> start_daemon(const std::string& program, const std::string& folder) {
  NVS_TRY(prepare_folder(folder));
  const UniqueFd log = NVS_TRY(open_log(folder));
  DetachedProgram daemon{{program, "--folder", folder, "--exit-when-unused"}, log.get(), {}};
  daemon.without.assign(std::begin(kNotInherited), std::end(kNotInherited));
  const Result<UniqueFd> process = start_detached(daemon);
  if (!process) {
    return failure("cannot start " + program + ": " + process.error().message() +
                   "; run the program without a daemon with --no-daemon");
  }
  auto end = Clock::now() + kStartMax;
  bool ended = false;
  while (!os::connect_unix(tenant_socket(folder), os::SocketKind::packets)) {
    if (!ended && has_ended(*process)) {
      ended = true;
      end = std::min(end, Clock::now() + kOtherMax);
    }
    if (Clock::now() >= end) {
      return tl::unexpected(did_not_start(
          folder, ended ? "ended before it listened on" : "did not listen within 30 s on"));
    }
    std::this_thread::sleep_for(kProbeEvery);
  }
  return {};
}

}  // namespace nvs::cli
