// SPDX-License-Identifier: Apache-2.0
// One thread that serves many descriptors without waiting for any of them: epoll, with a callback
// for each descriptor, one reading of the clock a round, and a deadline up to which it sleeps.
// Everything that a program owns may be touched from callbacks without locks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <sys/epoll.h>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "os/timer.h"

namespace nvs::os {

class EventLoop {
 public:
  // Gets the events of epoll(7) that came: EPOLLIN, EPOLLOUT, EPOLLRDHUP, EPOLLHUP, EPOLLERR.
  using Callback = std::function<void(std::uint32_t events)>;

  static Result<EventLoop> create();

  // The descriptor stays the caller's, who removes it before closing it. Events are reported for as
  // long as they last (level-triggered): a callback may read one packet and return. Errors: EEXIST
  // for a descriptor that is in the loop already, EPERM for one that cannot be waited for.
  Result<void> add(int fd, std::uint32_t events, Callback callback);
  Result<void> change(int fd, std::uint32_t events);
  // Nothing happens if it is not there. Allowed in any callback, about any descriptor: events that
  // were under way for it are dropped, even if its number is used again in the same round.
  void remove(int fd);

  // Waits until a descriptor is ready or `deadline` has come, reads the clock, and calls the
  // callbacks of what is ready. An interrupted wait is a round without events.
  Result<void> run_round(std::optional<Instant> deadline);

  // Between these two the loop does not sleep: something is expected that must be answered at once,
  // and waking up takes longer than the answer. One span a key; an earlier one of it is forgotten.
  void stay_awake(std::uint32_t key, Instant from, Instant until);
  void may_sleep(std::uint32_t key);

  // The reading of the clock of this round. It does not advance while callbacks run.
  Instant now() const { return now_; }

 private:
  struct Watch {
    std::uint32_t generation = 0;
    Callback callback;
  };
  // How many ready descriptors one round takes; the rest come in the next, in turn.
  static constexpr int kReadyMax = 64;

  struct Vigil {
    std::uint32_t key;
    Instant from;
    Instant until;
  };
  // Drops what is over; whether one has begun. The next one to begin moves the deadline.
  bool is_awake(std::optional<Instant>& deadline);

  EventLoop(UniqueFd epoll, Timer timer);
  void dispatch(const epoll_event& event);

  UniqueFd epoll_;
  Timer timer_;
  Instant now_;
  std::vector<Vigil> vigils_;
  std::uint32_t next_generation_ = 1;
  std::vector<std::unique_ptr<Watch>> watches_;  // by descriptor
  // Removed in this round: a callback may remove itself while it runs.
  std::vector<std::unique_ptr<Watch>> removed_;
};

}  // namespace nvs::os
