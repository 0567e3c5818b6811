// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "wire/messages.h"

namespace nvs::cli {

std::string node_folder() { return wire::kDefaultFolder; }

std::string user_folder(const std::string& runtime_folder, uid_t user) {
  struct stat found {};
  const bool usable = runtime_folder.starts_with('/') &&
                      ::stat(runtime_folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
                      found.st_uid == user;
  return usable ? runtime_folder + "/nvshare" : "/tmp/nvshare-" + std::to_string(user);
}

std::string own_folder() {
  const char* runtime_folder = std::getenv("XDG_RUNTIME_DIR");
  return user_folder(runtime_folder == nullptr ? "" : runtime_folder, ::geteuid());
}

std::optional<std::string> why_not_ours(const std::string& folder) {
  // Opened first and looked at then, so that what is looked at is what is there.
  const UniqueFd fd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  struct stat found {};
  if (!fd || ::fstat(fd.get(), &found) != 0) {
    if (errno == ENOENT) return std::nullopt;
    const bool is_odd = errno == ENOTDIR || errno == ELOOP;
    return is_odd ? "it is a link or a file" : std::strerror(errno);
  }
  if (found.st_uid != ::geteuid()) return "it belongs to another user";
  if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "other users may write to it";
  return std::nullopt;
}

std::string tenant_socket(const std::string& folder) { return folder + "/" + wire::kTenantSocket; }

std::string admin_socket(const std::string& folder) { return folder + "/" + wire::kAdminSocket; }

}  // namespace nvs::cli
