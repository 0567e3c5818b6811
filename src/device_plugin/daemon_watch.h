// SPDX-License-Identifier: Apache-2.0
// Notices that a daemon has come: it knows nothing of what the one before was told, and its tenants
// are unverified until it is told who has which slot. It says when to talk to it.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/instant.h"
#include "device_plugin/folder_watch.h"
#include "os/event_loop.h"

namespace nvs::plugin {

class DaemonWatch {
 public:
  // `socket` is the daemon's for plugins. Neither it nor its folder needs to be there.
  DaemonWatch(os::EventLoop& loop, std::string socket) : loop_(loop), socket_(std::move(socket)) {}

  // Whether the daemon should be talked to now. A socket is there before it is served, so it says
  // so again and again until the daemon has answered, for a while.
  bool wants_talk(Instant now);
  // The daemon has answered, in a talk that began then.
  void talked(Instant began_at);
  std::optional<Instant> next_deadline() const;

 private:
  static constexpr Duration kAgain = Duration::from_ms(200);
  static constexpr Duration kPatience = Duration::from_s(30);

  // The folder, once it is there, and anew when another one has taken its place.
  void watch_folder(Instant now);
  void came(Instant now);

  os::EventLoop& loop_;
  std::string socket_;
  std::optional<FolderWatch> folder_;
  Instant came_at_;
  std::optional<Instant> next_talk_;  // it came, and has not answered since
};

}  // namespace nvs::plugin
