// SPDX-License-Identifier: Apache-2.0
#include "daemon/folder.h"

#include <cerrno>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "base/result.h"
#include "os/process.h"
#include "os/unix_socket.h"
#include "wire/messages.h"

namespace nvs::daemon {
namespace {

constexpr const char* kTenantFolder = "tenant";
constexpr const char* kPluginFolder = "plugin";
constexpr const char* kLock = "lock";
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kForOwner = 0600;
constexpr mode_t kForAll = 0666;

using Problem = tl::unexpected<std::string>;

tl::expected<void, std::string> make_safe_folder(const std::string& path, uid_t self) {
  const Result<void> made = os::make_folder(path, kFolderMode);
  if (!made) {
    const char* advice = made.error().sys == EACCES || made.error().sys == EROFS
                             ? " (run as root, or choose another with --folder)"
                             : "";
    return Problem("cannot make the folder " + path + ": " + made.error().message() + advice);
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return Problem("cannot look at the folder " + path);
  }
  if (status.st_uid != self && status.st_uid != 0) {
    return Problem("the folder " + path + " belongs to another user, who could replace the " +
                   "sockets in it: choose another with --folder");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Problem("other users may write into the folder " + path +
                   " and could replace the sockets in it: chmod go-w " + path);
  }
  return {};
}

tl::expected<UniqueFd, std::string> take_lock(const std::string& folder) {
  const std::string path = folder + "/" + kLock;
  Result<UniqueFd> lock = os::lock_file(path);
  if (lock) return std::move(*lock);
  if (lock.error().sys == EWOULDBLOCK) {
    return Problem("another nvshare-scheduler uses the folder " + folder +
                   ": stop it, or choose another with --folder");
  }
  return Problem("cannot lock " + path + ": " + lock.error().message());
}

tl::expected<UniqueFd, std::string> listen(const std::string& path, os::SocketKind kind,
                                           mode_t mode) {
  Result<UniqueFd> socket = os::listen_unix(path, kind, mode);
  if (socket) return std::move(*socket);
  return Problem("cannot listen on " + path + ": " + socket.error().message());
}

}  // namespace

tl::expected<Folder, std::string> Folder::open(const std::string& path, uid_t self) {
  Folder folder;
  folder.path_ = path;
  for (const std::string& each : {path, path + "/" + kTenantFolder, path + "/" + kPluginFolder}) {
    const auto made = make_safe_folder(each, self);
    if (!made) return Problem(made.error());
  }
  auto lock = take_lock(path);
  if (!lock) return Problem(lock.error());
  folder.lock_ = std::move(*lock);
  // Root's daemon serves all users, one of a user serves that user.
  const mode_t tenant_mode = self == 0 ? kForAll : kForOwner;
  auto tenant = listen(path + "/" + wire::kTenantSocket, os::SocketKind::packets, tenant_mode);
  if (!tenant) return Problem(tenant.error());
  folder.tenant_socket_ = std::move(*tenant);
  auto admin = listen(path + "/" + wire::kAdminSocket, os::SocketKind::stream, kForOwner);
  if (!admin) return Problem(admin.error());
  folder.admin_socket_ = std::move(*admin);
  auto plugin = listen(path + "/" + wire::kPluginSocket, os::SocketKind::stream, kForOwner);
  if (!plugin) return Problem(plugin.error());
  folder.plugin_socket_ = std::move(*plugin);
  return folder;
}

void Folder::remove_sockets() const {
  for (const char* socket : {wire::kTenantSocket, wire::kAdminSocket, wire::kPluginSocket}) {
    ::unlink((path_ + "/" + socket).c_str());
  }
}

}  // namespace nvs::daemon
