// SPDX-License-Identifier: Apache-2.0
// How Sessions stops listening without losing anybody. To close a listening socket is not enough:
// who has connected and was not accepted yet believes that a daemon is there, and is told nothing.
#include <cstdint>
#include <utility>

#include <sys/socket.h>

#include "daemon/sessions.h"
#include "os/foreign_file.h"

namespace nvs::daemon {

bool Sessions::close_entrance() {
  if (!listener_) return false;
  // Whoever connects from here on is refused, and those in the queue stay there. To remove the name
  // would not do: somebody may have looked it up already.
  ::shutdown(listener_.get(), SHUT_RD);
  const std::uint64_t clients_before = clients_ever_;
  std::uint64_t clients_seen = 0;
  do {
    clients_seen = clients_ever_;
    accept_one();
  } while (clients_ever_ != clients_seen);
  const bool has_somebody_come = clients_ever_ != clients_before || accept_again_;
  let_go_of_listener();
  settle();
  return has_somebody_come;
}

// Connections that were never accepted go with it, and what strangers have sent on them.
void Sessions::let_go_of_listener() {
  if (!listener_) return;
  loop_.remove(listener_.get());
  accept_again_.reset();
  ::shutdown(listener_.get(), SHUT_RD);
  os::ForeignFile{std::move(listener_), os::ForeignFile::Kind::our_socket}.reset();
}

}  // namespace nvs::daemon
