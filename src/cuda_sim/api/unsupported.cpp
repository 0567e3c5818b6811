// SPDX-License-Identifier: Apache-2.0
// Every entry point that the simulator lacks: exported all the same, so that programs link and find
// it; it says once that it is not there. Weak, so that an implementation anywhere else takes its
// place. The declarations are not included here, because these stubs take no arguments.
#include <cstdio>
#include <mutex>
#include <set>
#include <string>

namespace {

constexpr int kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

int unsupported(const char* symbol) {
  static std::mutex mutex;
  static auto* named = new std::set<std::string>;
  const std::lock_guard guard{mutex};
  if (named->insert(symbol).second) {
    std::fprintf(stderr, "cuda_sim: %s is not simulated; it returns CUDA_ERROR_NOT_SUPPORTED\n",
                 symbol);
  }
  return kNotSupported;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) \
  __attribute__((weak)) int symbol() { return unsupported(#symbol); }
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
}
#pragma GCC visibility pop
