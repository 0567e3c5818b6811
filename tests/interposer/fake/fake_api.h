// SPDX-License-Identifier: Apache-2.0
// What a test program may ask of the fake driver, and tell it. The fake libcuda.so.1 exports these
// C functions beside the driver API; programs find them by dlsym.
#pragma once

#include <cstddef>
#include <cstdint>

#pragma GCC visibility push(default)
extern "C" {

enum FakeMode {
  kFakeWorks,     // as far as behaviour.h goes; the rest succeeds and does nothing
  kFakeFails,     // every function returns an error of its own, 10000 + its row
  kFakeSucceeds,  // every function succeeds and fills its results with values of its own
};
void fake_set_mode(FakeMode mode);

/// How often an entry point was called, and the hash of the arguments of its last call.
unsigned long fake_calls(unsigned row);
std::uint64_t fake_hash(unsigned row);

/// Calls `action` inside of every launch from now on, or nothing if it is null.
void fake_on_launch(void (*action)(void*), void* argument);

/// Threads that are inside of a launch or copy now.
int fake_inside(void);

/// Launches so far, and the first grid dimension of each, in the order of their arrival.
unsigned fake_launches(void);
unsigned fake_launched(unsigned number);

/// One line for each call since the start, with its plain arguments; returns the size of the whole
/// text, which may be more than fits. Calls that only ask are left out.
std::size_t fake_log(char* buffer, std::size_t size);
}
#pragma GCC visibility pop
