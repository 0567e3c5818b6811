// SPDX-License-Identifier: Apache-2.0
// For a daemon that ends when nobody uses it: the processes that have ever connected, until they
// end. A program may use its GPU minutes after `nvshare run`, which it was before, has looked for
// the daemon; and a program that has closed its connection may come back.
#pragma once

#include <cstddef>
#include <map>

#include <sys/types.h>

#include "base/unique_fd.h"
#include "os/event_loop.h"

namespace nvs::daemon {

class Visitors {
 public:
  // Of those beyond `visitors_max` only the connections count, as of all on kernels before 5.3.
  Visitors(os::EventLoop& loop, std::size_t visitors_max)
      : loop_(loop), visitors_max_(visitors_max) {}
  ~Visitors();
  Visitors(const Visitors&) = delete;
  Visitors& operator=(const Visitors&) = delete;

  // The process at the other end of a connection. One that is known already is not counted twice.
  void add(int socket_fd);

  // How many of them have not ended.
  std::size_t count() const { return pidfds_.size(); }

 private:
  void forget(pid_t pid);

  os::EventLoop& loop_;
  std::size_t visitors_max_;
  // While a process has not been waited for, nobody else has its number.
  std::map<pid_t, UniqueFd> pidfds_;
};

}  // namespace nvs::daemon
