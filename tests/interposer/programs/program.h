// SPDX-License-Identifier: Apache-2.0
// What the small programs share: they find the driver as frameworks do, print what they saw on
// standard output and, apart from that, whether a pointer is the driver's own.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>

#include "cuda_api/cuda.h"
#include "tests/interposer/fake/fake_api.h"

namespace nvs::program {

[[noreturn]] inline void give_up(const char* what) {
  std::printf("gave up: %s\n", what);
  std::exit(3);
}

/// The driver, opened by its name and never closed.
inline void* driver() {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) give_up(::dlerror());
  return library;
}

template <class Function>
Function* find(const char* name, void* library = driver()) {
  auto* function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) give_up(name);
  return function;
}
/// A function of the driver, or of the fake driver's own.
#define NVS_FIND(name) ::nvs::program::find<decltype(::name)>(#name)

/// The file that an address belongs to, without its folder.
inline const char* file_of(const void* address) {
  Dl_info info{};
  if (address == nullptr) return "null";
  if (::dladdr(address, &info) == 0) return "nowhere";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

inline void evidence(const char* what, const void* address) {
  std::fprintf(stderr, "evidence: %s from %s\n", what, file_of(address));
}
template <class Function>
void evidence_of(const char* what, Function* function) {
  evidence(what, reinterpret_cast<const void*>(function));
}

inline void must(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s: %d\n", call, static_cast<int>(result));
  std::exit(4);
}
#define NVS_DO(call) ::nvs::program::must((call), #call)

/// Runs the case that the first argument names.
struct Case {
  std::string_view name;
  int (*run)();
};
template <std::size_t N>
int run_case(int argc, char** argv, const Case (&cases)[N]) {
  for (const Case& one : cases) {
    if (argc > 1 && one.name == argv[1]) return one.run();
  }
  give_up("no such case");
}

}  // namespace nvs::program
