// SPDX-License-Identifier: Apache-2.0
// Asks for functions while the program is still being loaded, from a constructor of its own.
#include <dlfcn.h>

#include "tests/interposer/programs/program.h"

namespace nvs::program {
namespace {

struct Early {
  Early() {
    for (const char* name : {"cuInit", "cuLaunchKernel", "malloc"}) {
      std::printf("early %s: default %s, next %s\n", name,
                  ::dlsym(RTLD_DEFAULT, name) != nullptr ? "there" : "null",
                  ::dlsym(RTLD_NEXT, name) != nullptr ? "there" : "null");
    }
    void* const launch = ::dlsym(RTLD_DEFAULT, "cuLaunchKernel");
    if (launch == nullptr) return;
    const int result = reinterpret_cast<decltype(&cuLaunchKernel)>(launch)(
        nullptr, 99, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    std::printf("early launch: %d\n", result);
  }
} const g_early;

}  // namespace
}  // namespace nvs::program
