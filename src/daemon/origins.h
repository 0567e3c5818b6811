// SPDX-License-Identifier: Apache-2.0
// Where clients come from: a container, which is one tenant, or a user, who may be as many tenants
// as it likes: what is bounded for each tenant would not hold it. So places, and how often somebody
// comes, are bounded for each origin too. Containers that a user has below his own slice are of
// that user: he can make up any number of them, and has more than one uid for what is in them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/instant.h"
#include "daemon/identity.h"
#include "daemon/message_budget.h"
#include "os/foreign_file.h"

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
  // For a descriptor that one of its clients passes, until that is closed. Nothing: too many of
  // them are open.
  std::optional<os::ForeignFile::Ticket> take_ticket(const std::string& origin);

  // Whether a message of one of its clients may be taken now, and that one was, of a client that
  // uses so many GPUs.
  bool may_be_read(const std::string& origin, Instant now) const;
  void count_message(const std::string& origin, Instant now, std::int64_t gpus = 1);
  // What messages cost beyond that is charged there; null: its clients may do as they like.
  OriginBudgets* budgets(const std::string& origin);

  std::size_t count() const { return entries_.size(); }

 private:
  struct Entry {
    std::size_t clients = 0;
    Instant paid_until;  // up to here, those who came are paid for
    // As many more have it as descriptors that were passed are open.
    std::shared_ptr<const char> ticket = std::make_shared<char>();
    OriginBudgets budgets;
  };
  void forget_the_settled(Instant now);

  std::map<std::string, Entry> entries_;
};

}  // namespace nvs::daemon
