// SPDX-License-Identifier: Apache-2.0
// A plug-in that is linked to the driver and opened for itself alone: what it loads is in nobody
// else's scope.
#include <dlfcn.h>

#include "tests/interposer/programs/program.h"

extern "C" [[gnu::visibility("default")]] int run_plugin() {
  using nvs::program::evidence_of;
  // The driver may have stayed loaded since the last time.
  const unsigned before = fake_launches();
  NVS_DO(cuInit(0));
  CUcontext context = nullptr;
  NVS_DO(cuCtxCreate_v2(&context, 0, 0));
  CUdeviceptr address = 0;
  NVS_DO(cuMemAlloc_v2(&address, 4096));
  NVS_DO(cuLaunchKernel(nullptr, 3, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  NVS_DO(cuMemFree_v2(address));
  for (const char* name : {"cuInit", "cuMemAlloc_v2", "cuLaunchKernel", "fake_launches"}) {
    void* const next = ::dlsym(RTLD_NEXT, name);
    void* const by_default = ::dlsym(RTLD_DEFAULT, name);
    std::printf("plug-in %s: default %s, next %s\n", name, by_default != nullptr ? "there" : "null",
                next != nullptr ? "there" : "null");
  }
  auto* const launch =
      reinterpret_cast<decltype(&cuLaunchKernel)>(::dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
  std::printf("by default: %d\n", launch(nullptr, 4, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  evidence_of("plug-in", launch);
  std::printf("launches: %u\n", fake_launches() - before);
  return 0;
}
