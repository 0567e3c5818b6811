// SPDX-License-Identifier: Apache-2.0
// Short waits that are no longer than they should be.
#pragma once

#include "os/linux_calls.h"

namespace nvs::interposer::gate {

// A thread sleeps 50 us longer than it wants to unless it says that it minds. That is a property of
// the thread, so it is put back.
class PreciseSleep {
 public:
  PreciseSleep() : slack_ns_(os::timer_slack_ns()) { os::set_timer_slack_ns(1); }
  ~PreciseSleep() {
    if (slack_ns_ > 0) os::set_timer_slack_ns(slack_ns_);
  }
  PreciseSleep(const PreciseSleep&) = delete;
  PreciseSleep& operator=(const PreciseSleep&) = delete;

 private:
  long slack_ns_;
};

}  // namespace nvs::interposer::gate
