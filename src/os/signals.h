// SPDX-License-Identifier: Apache-2.0
// Signals as a descriptor for the event loop: no handler runs at an awkward moment. And threads
// that take none.
#pragma once

#include <initializer_list>
#include <optional>

#include <signal.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::os {

class SignalFd {
 public:
  // These signals are blocked in the calling thread, and in those it starts, from here on; they
  // stay so when the object goes.
  static Result<SignalFd> create(std::initializer_list<int> signals);

  int fd() const { return fd_.get(); }
  // The next one that came; nothing if none did.
  std::optional<int> take();

 private:
  explicit SignalFd(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// While threads are made, which inherit it: signals are for the thread that has asked for them.
class NoSignals {
 public:
  NoSignals();
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

Result<void> ignore_signal(int number);

}  // namespace nvs::os
