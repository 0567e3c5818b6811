// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "os/unix_socket.h"
#include "wire/messages.h"

namespace nvs::cli {

namespace {

bool answers(const std::string& folder, Door door) {
  const auto connection = door == Door::tenants
                              ? os::connect_unix(tenant_socket(folder), os::SocketKind::packets)
                              : os::connect_unix(admin_socket(folder), os::SocketKind::stream);
  return connection.has_value();
}

}  // namespace

std::string node_folder() { return wire::kDefaultFolder; }

std::string user_folder(const std::string& runtime_folder, uid_t user) {
  struct stat found {};
  const bool usable = runtime_folder.starts_with('/') &&
                      ::stat(runtime_folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
                      found.st_uid == user;
  return usable ? runtime_folder + "/nvshare" : "/tmp/nvshare-" + std::to_string(user);
}

std::string other_user_folder(const std::string& folder, uid_t user) {
  const std::string number = std::to_string(user);
  const std::string of_login = "/run/user/" + number + "/nvshare";
  std::string in_tmp = "/tmp/nvshare-" + number;
  if (folder == of_login) return in_tmp;
  return folder == in_tmp ? of_login : "";
}

std::string own_folder(Door door) {
  const char* runtime_folder = std::getenv("XDG_RUNTIME_DIR");
  std::string first = user_folder(runtime_folder == nullptr ? "" : runtime_folder, ::geteuid());
  if (answers(first, door)) return first;
  std::string second = other_user_folder(first, ::geteuid());
  return !second.empty() && !why_not_ours(second) && answers(second, door) ? second : first;
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
