// SPDX-License-Identifier: Apache-2.0
// Looks into the driver whenever somebody opens it, as profilers do.
#include <dlfcn.h>

#include "tests/interposer/programs/program.h"

extern "C" [[gnu::visibility("default")]] void* dlopen(const char* file, int mode) {
  using Open = void*(const char*, int);
  static auto* const next = reinterpret_cast<Open*>(::dlsym(RTLD_NEXT, "dlopen"));
  void* const library = next(file, mode);
  if (library != nullptr && file != nullptr && std::strstr(file, "libcuda") != nullptr &&
      ::dlsym(library, "cuMemAlloc_v2") == nullptr) {
    nvs::program::give_up("no cuMemAlloc_v2");
  }
  return library;
}
