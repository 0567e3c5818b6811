// SPDX-License-Identifier: Apache-2.0
// Which connections Sessions reads from just now. What an origin sends beyond its share is not
// lost, and nobody is closed for it: it is read later.
#include <sys/epoll.h>

#include "base/assert.h"
#include "base/log.h"
#include "daemon/limits.h"
#include "daemon/sessions.h"

namespace nvs::daemon {

void Sessions::watch(const Connection& connection) {
  std::uint32_t events = EPOLLRDHUP;
  if (!connection.is_paused) events |= EPOLLIN;
  if (connection.is_watched_for_output) events |= EPOLLOUT;
  const Result<void> changed = loop_.change(connection.session.fd(), events);
  NVS_ASSERT(changed.has_value());
}

void Sessions::pause(Connection& connection) {
  NVS_ASSERT(!connection.is_paused);
  connection.is_paused = true;
  watch(connection);
  pauses_.begin(connection.session.id(), loop_.now());
  if (loop_.now() < pause_line_after_) return;
  pause_line_after_ = loop_.now() + kPauseLinesApart;
  log(Level::warning, "read more slowly: its container or user sends too many messages",
      fields_about(connection, {{"origin", connection.origin}}));
}

void Sessions::resume_paused() {
  while (const auto client = pauses_.take_ended(loop_.now())) {
    Connection* connection = find(*client);
    if (connection == nullptr) continue;
    connection->is_paused = false;
    watch(*connection);
  }
}

}  // namespace nvs::daemon
