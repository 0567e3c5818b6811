// SPDX-License-Identifier: Apache-2.0
// What a test may do to the library beyond CUDA. Only the library in build/lib/test exports these;
// a program finds them by dlsym.
#pragma once

#pragma GCC visibility push(default)
extern "C" {
// 0, or -ETIMEDOUT: then the gate is open again. A negative timeout waits for ever.
int nvshare_test_gate_close(int gpu, long timeout_ms);
void nvshare_test_gate_open(int gpu);
// How many threads are marked inside.
int nvshare_test_inside(void);
}
#pragma GCC visibility pop
