// SPDX-License-Identifier: Apache-2.0
// A deadline as a descriptor that becomes readable, to the nanosecond where the millisecond of
// epoll_wait is too coarse. It is armed anew only when the deadline changed.
#pragma once

#include <optional>

#include "base/instant.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::os {

class Timer {
 public:
  static Result<Timer> create();

  int fd() const { return fd_.get(); }
  // Readable from that instant of monotonic_now() on, which may lie in the past; nothing: never.
  Result<void> arm(std::optional<Instant> deadline);
  // It has fired: no longer readable, and to be armed again.
  void acknowledge();

 private:
  explicit Timer(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
  std::optional<Instant> armed_;
};

}  // namespace nvs::os
