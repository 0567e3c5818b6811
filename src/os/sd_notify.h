// SPDX-License-Identifier: Apache-2.0
// Tells the service manager how the program fares, in the words of sd_notify(3), without its
// library: a datagram to the socket that the manager named in NOTIFY_SOCKET.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "base/instant.h"
#include "base/unique_fd.h"

namespace nvs::os {

class ServiceManager {
 public:
  // `address` is the value of NOTIFY_SOCKET: a path, or a name that begins with @. A null pointer,
  // or one that is neither, means that nobody listens.
  explicit ServiceManager(const char* address);

  // "READY=1", "WATCHDOG=1", "STOPPING=1", "STATUS=…". The program never waits for the manager:
  // false if it does not take it now, and what must not be lost is to be told again. True where
  // nobody listens.
  bool tell(std::string_view state) const;

 private:
  UniqueFd fd_;
  std::string address_;  // as bind(2) takes it: an abstract name begins with a zero byte
};

// How often the manager wants to hear WATCHDOG=1, from WATCHDOG_USEC and WATCHDOG_PID (null where
// they are not set); nothing if it does not, or means another process.
std::optional<Duration> watchdog_period(const char* usec, const char* pid, pid_t self);

}  // namespace nvs::os
