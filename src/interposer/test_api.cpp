// SPDX-License-Identifier: Apache-2.0
#include "interposer/test_api.h"

#include <errno.h>

#include "interposer/gate/gate.h"

namespace gate = nvs::interposer::gate;

int nvshare_test_gate_close(int gpu, long timeout_ms) {
  constexpr long kMillisecond_ns = 1'000'000;
  return gate::close(gpu, timeout_ms < 0 ? -1 : timeout_ms * kMillisecond_ns) ? 0 : -ETIMEDOUT;
}

void nvshare_test_gate_open(int gpu) { gate::open(gpu); }

int nvshare_test_inside(void) { return gate::threads_inside(); }
