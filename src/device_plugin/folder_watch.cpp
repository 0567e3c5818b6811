// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/folder_watch.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::plugin {

Result<FolderWatch> FolderWatch::create(const std::string& folder) {
  UniqueFd fd{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  if (!fd) return tl::unexpected(Error::from_errno(errno, "inotify_init1"));
  constexpr std::uint32_t kChanges = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  if (::inotify_add_watch(fd.get(), folder.c_str(), kChanges) < 0) {
    return tl::unexpected(Error::from_errno(errno, "the folder cannot be watched"));
  }
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    return tl::unexpected(Error::from_errno(errno, "the folder cannot be looked at"));
  }
  return FolderWatch{std::move(fd), folder, status.st_dev, status.st_ino};
}

bool FolderWatch::is_there() const {
  struct stat status {};
  if (::stat(folder_.c_str(), &status) != 0) return false;
  return status.st_dev == device_ && status.st_ino == inode_ && status.st_nlink > 0;
}

std::vector<FolderChange> FolderWatch::take() {
  std::vector<FolderChange> changes;
  alignas(inotify_event) std::array<char, 16384> buffer;  // NOLINT(*-member-init): read() fills it
  while (true) {
    const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return changes;
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const char* name = buffer.data() + at + sizeof event;
      at += sizeof event + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) {
        changes.push_back({FolderChange::Kind::lost, ""});
      } else if ((event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED)) != 0) {
        changes.push_back({FolderChange::Kind::gone, ""});
      } else if (event.len > 0) {
        const bool came = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
        changes.push_back({came ? FolderChange::Kind::came : FolderChange::Kind::left, name});
      }
    }
  }
}

}  // namespace nvs::plugin
