// SPDX-License-Identifier: Apache-2.0
// How one thread tells the event loop of another that something waits for it: a descriptor that is
// readable from set() until clear().
#pragma once

#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::os {

class WakeEvent {
 public:
  static Result<WakeEvent> create();

  int fd() const { return fd_.get(); }
  // From any thread. Several are one.
  void set() const;
  void clear() const;

 private:
  explicit WakeEvent(UniqueFd fd) : fd_(std::move(fd)) {}

  UniqueFd fd_;
};

}  // namespace nvs::os
