// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/root_lock.h"

#include <filesystem>

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

namespace nvs::plugin {

Result<UniqueFd> hold_root(const std::string& root) {
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) {
    return tl::unexpected(Error::from_errno(error.value(), "the folder cannot be made"));
  }
  UniqueFd fd{::open((root + "/" + kRootLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "its lock cannot be opened"));
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return tl::unexpected(Error::from_errno(errno, "flock"));
    return tl::unexpected(Error{Errc::kLimit, 0, "an uninstallation is removing it"});
  }
  // Who held it until now has removed the file with all the rest.
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || status.st_nlink == 0) {
    return tl::unexpected(Error{Errc::kNotFound, 0, "an uninstallation has just removed it"});
  }
  return fd;
}

}  // namespace nvs::plugin
