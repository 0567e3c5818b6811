// SPDX-License-Identifier: Apache-2.0
#include "daemon/folder.h"

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/instant.h"
#include "base/log.h"
#include "base/result.h"
#include "daemon/limits.h"
#include "os/clock.h"
#include "os/process.h"
#include "wire/messages.h"

namespace nvs::daemon {
namespace {

constexpr const char* kTenantFolder = "tenant";
constexpr const char* kPluginFolder = "plugin";
constexpr const char* kLock = "lock";
constexpr mode_t kFolderMode = 0755;
constexpr mode_t kForOwner = 0600;
constexpr mode_t kForAll = 0666;
constexpr auto kFolderLookEvery = std::chrono::milliseconds(5);

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

bool is_held(const Result<UniqueFd>& lock) { return !lock && lock.error().sys == EWOULDBLOCK; }

bool is_served(const std::string& folder) {
  return os::connect_unix(folder + "/" + wire::kTenantSocket, os::SocketKind::packets).has_value();
}

// A daemon that ends, or was killed, closes its sockets first and gives its memory back before it
// lets go of the folder. Who finds nobody listening in between starts the next one.
Result<UniqueFd> lock_once_left(const std::string& path, const std::string& folder) {
  Result<UniqueFd> lock = os::lock_file(path);
  if (!is_held(lock) || is_served(folder)) return lock;
  log(Level::info, "another nvshare-scheduler has the folder and does not listen: waiting for it",
      {{"folder", folder}});
  const Instant end = os::monotonic_now() + kFolderWait;
  while (is_held(lock) && os::monotonic_now() < end && !is_served(folder)) {
    std::this_thread::sleep_for(kFolderLookEvery);
    lock = os::lock_file(path);
  }
  return lock;
}

tl::expected<UniqueFd, std::string> take_lock(const std::string& folder) {
  const std::string path = folder + "/" + kLock;
  Result<UniqueFd> lock = lock_once_left(path, folder);
  if (lock) return std::move(*lock);
  if (is_held(lock)) {
    return Problem("another nvshare-scheduler uses the folder " + folder +
                   ": stop it, or choose another with --folder");
  }
  return Problem("cannot lock " + path + ": " + lock.error().message());
}

enum class Whose { ours, others, nobody_knows };

Whose whose(const std::string& path, const UniqueFd& file) {
  struct stat ours {};
  struct stat there {};
  if (!file || ::fstat(file.get(), &ours) != 0) return Whose::nobody_knows;
  if (::lstat(path.c_str(), &there) != 0) {
    return errno == ENOENT ? Whose::others : Whose::nobody_knows;
  }
  const bool is_same = ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
  return is_same ? Whose::ours : Whose::others;
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
  folder.tenant_mode_ = self == 0 ? kForAll : kForOwner;
  auto tenant = folder.listen_for_tenants();
  if (!tenant) return Problem(tenant.error());
  folder.tenant_socket_ = std::move(*tenant);
  auto admin =
      folder.listen(folder.admin_name_, wire::kAdminSocket, os::SocketKind::stream, kForOwner);
  if (!admin) return Problem(admin.error());
  folder.admin_socket_ = std::move(*admin);
  auto plugin =
      folder.listen(folder.plugin_name_, wire::kPluginSocket, os::SocketKind::stream, kForOwner);
  if (!plugin) return Problem(plugin.error());
  folder.plugin_socket_ = std::move(*plugin);
  return folder;
}

tl::expected<UniqueFd, std::string> Folder::listen(Name& name, const char* socket,
                                                   os::SocketKind kind, mode_t mode) const {
  name.path = path_ + "/" + socket;
  Result<UniqueFd> listener = os::listen_unix(name.path, kind, mode);
  if (!listener) {
    return Problem("cannot listen on " + name.path + ": " + listener.error().message());
  }
  name.file.reset(::open(name.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  return std::move(*listener);
}

tl::expected<UniqueFd, std::string> Folder::listen_for_tenants() {
  return listen(tenant_name_, wire::kTenantSocket, os::SocketKind::packets, tenant_mode_);
}

bool Folder::is_lost() const {
  return whose(tenant_name_.path, tenant_name_.file) == Whose::others;
}

void Folder::remove_sockets() const {
  for (const Name* name : {&tenant_name_, &admin_name_, &plugin_name_}) {
    if (whose(name->path, name->file) == Whose::ours) ::unlink(name->path.c_str());
  }
}

}  // namespace nvs::daemon
