// SPDX-License-Identifier: Apache-2.0
// A part of a plug-in that needs no driver itself, and looks for the one that the whole was loaded
// with.
#include <dlfcn.h>

#include "tests/interposer/programs/program.h"

extern "C" [[gnu::visibility("default")]] int run_part() {
  for (void* place : {RTLD_DEFAULT, RTLD_NEXT}) {
    auto* const launch =
        reinterpret_cast<decltype(&cuLaunchKernel)>(::dlsym(place, "cuLaunchKernel"));
    if (launch == nullptr) nvs::program::give_up("no cuLaunchKernel");
    std::printf("part: %s\n", ::dlerror() != nullptr ? "found with an error" : "found");
    std::printf("part: %d\n", launch(nullptr, 5, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    nvs::program::evidence_of("part", launch);
  }
  return 0;
}
