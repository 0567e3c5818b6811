// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace nvs::os {

Result<UniqueFd> lock_file(const std::string& path) {
  UniqueFd fd{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "open"));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return tl::unexpected(Error::from_errno(errno, "flock"));
  }
  return fd;
}

Result<void> make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) {
    // The umask had its say in mkdir.
    if (::chmod(path.c_str(), mode) == 0) return {};
    return tl::unexpected(Error::from_errno(errno, "chmod"));
  }
  struct stat status {};
  const int failure = errno;
  if (failure != EEXIST) return tl::unexpected(Error::from_errno(failure, "mkdir"));
  if (::stat(path.c_str(), &status) != 0) return tl::unexpected(Error::from_errno(errno, "stat"));
  if (!S_ISDIR(status.st_mode)) return tl::unexpected(Error::from_errno(ENOTDIR, "mkdir"));
  return {};
}

Result<std::uint64_t> raise_open_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return tl::unexpected(Error::from_errno(errno, "getrlimit"));
  }
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return tl::unexpected(Error::from_errno(errno, "setrlimit"));
  }
  return limit.rlim_cur;
}

UniqueFd move_up(UniqueFd fd) {
  constexpr rlim_t kHigh = 4096;  // more would cost more: the kernel's table ends at the highest
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const rlim_t least = std::min(kHigh, limit.rlim_cur / 2);
  UniqueFd moved{::fcntl(fd.get(), F_DUPFD_CLOEXEC, static_cast<int>(least))};
  return moved ? std::move(moved) : std::move(fd);
}

Result<void> set_niceness(int niceness) {
  if (::setpriority(PRIO_PROCESS, 0, niceness) != 0) {
    return tl::unexpected(Error::from_errno(errno, "setpriority"));
  }
  return {};
}

int niceness() { return ::getpriority(PRIO_PROCESS, 0); }

}  // namespace nvs::os
