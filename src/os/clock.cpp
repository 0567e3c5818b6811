// SPDX-License-Identifier: Apache-2.0
#include "os/clock.h"

#include <time.h>

namespace nvs::os {

Instant monotonic_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Instant::from_ns(now.tv_sec * 1'000'000'000 + now.tv_nsec);
}

}  // namespace nvs::os
