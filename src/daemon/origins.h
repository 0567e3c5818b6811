// SPDX-License-Identifier: Apache-2.0
// Where clients come from: a container, which is one tenant, or outside of containers a user, who
// may be as many tenants as it likes: what is bounded for each tenant would not hold it. So places,
// and how often somebody comes, are bounded for each origin too.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include <sys/types.h>

#include "base/instant.h"
#include "daemon/identity.h"

namespace nvs::daemon {

// Empty for root and the daemon's own user (`self`) outside of containers, who could end the daemon
// as well and are not counted.
std::string origin_of(const Peer& peer, uid_t self);

class Origins {
 public:
  enum class Answer : unsigned char { welcome, too_many, too_often };
  // Whoever is welcome has a place until it leaves.
  Answer enter(const std::string& origin, Instant now);
  void leave(const std::string& origin, Instant now);
  // One of its clients passes a descriptor. False: they have passed too many lately.
  bool pass_file(const std::string& origin, Instant now);

  std::size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    std::size_t clients = 0;
    Instant paid_until;        // up to here, those who came are paid for
    Instant files_paid_until;  // and what they passed
  };
  void forget_the_settled(Instant now);

  std::map<std::string, Entry> entries_;
};

}  // namespace nvs::daemon
