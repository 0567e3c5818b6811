// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/daemon_watch.h"

#include <unistd.h>

#include "os/clock.h"

namespace nvs::plugin {

bool DaemonWatch::wants_talk(Instant now) {
  watch_folder(now);
  if (!next_talk_ || now < *next_talk_) return false;
  next_talk_ = now + kAgain;
  // One that does not answer in all that time is asked as often as others are.
  if (now >= came_at_ + kPatience) next_talk_.reset();
  return true;
}

void DaemonWatch::talked(Instant began_at) {
  if (began_at >= came_at_) next_talk_.reset();
}

std::optional<Instant> DaemonWatch::next_deadline() const { return next_talk_; }

void DaemonWatch::watch_folder(Instant now) {
  if (folder_ && folder_->is_there()) return;
  if (folder_) loop_.remove(folder_->fd());
  folder_.reset();
  const std::size_t slash = socket_.rfind('/');
  auto folder = FolderWatch::create(socket_.substr(0, slash));
  if (!folder) return;
  const auto take_changes = [this, name = socket_.substr(slash + 1)](auto) {
    using Kind = FolderChange::Kind;
    for (const FolderChange& change : folder_->take()) {
      const bool is_it = change.kind == Kind::came && change.name == name;
      if (is_it || change.kind == Kind::lost) came(os::monotonic_now());
    }
  };
  if (!loop_.add(folder->fd(), EPOLLIN, take_changes)) return;
  folder_ = *std::move(folder);
  // The daemon may have come with it.
  if (::access(socket_.c_str(), F_OK) == 0) came(now);
}

void DaemonWatch::came(Instant now) {
  came_at_ = now;
  next_talk_ = now;
}

}  // namespace nvs::plugin
