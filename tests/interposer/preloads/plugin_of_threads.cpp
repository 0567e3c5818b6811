// SPDX-License-Identifier: Apache-2.0
// A plug-in that calls the driver before it is loaded: from a thread for which its constructor
// waits, while the loader's lock is held.
#include <dlfcn.h>
#include <pthread.h>

#include "tests/interposer/programs/program.h"

namespace {

void* call_driver(void*) {
  NVS_DO(cuInit(0));
  CUcontext context = nullptr;
  NVS_DO(cuCtxCreate_v2(&context, 0, 0));
  NVS_DO(cuLaunchKernel(nullptr, 3, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  return nullptr;
}

struct Early {
  Early() {
    pthread_t thread{};
    ::pthread_create(&thread, nullptr, &call_driver, nullptr);
    ::pthread_join(thread, nullptr);
  }
} const g_early;

}  // namespace

extern "C" [[gnu::visibility("default")]] int run_plugin() {
  return std::printf("launches: %u\n", fake_launches());
}
