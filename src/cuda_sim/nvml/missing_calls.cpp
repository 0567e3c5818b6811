// SPDX-License-Identifier: Apache-2.0
// Every entry point of NVML that nobody else here defines. Programs find it, are told that it is
// not supported, and a line on stderr says once that the simulator, not the card, lacks it.
//
// NVML's declarations must not be seen here: whatever its arguments are, they are not looked at.
#include <atomic>
#include <cstdio>

namespace {

constexpr int kNotSupported = 3;  // NVML_ERROR_NOT_SUPPORTED

int report_missing(const char* symbol, std::atomic_flag& reported) {
  if (!reported.test_and_set()) {
    std::fprintf(stderr, "simulated NVML: %s is not simulated\n", symbol);
  }
  return kNotSupported;
}

}  // namespace

#define NVS_NVML_ENTRY(symbol)                                           \
  extern "C" __attribute__((weak, visibility("default"))) int symbol() { \
    static std::atomic_flag reported;                                    \
    return report_missing(#symbol, reported);                            \
  }
#include "spec/nvml_entry_points.def"
#undef NVS_NVML_ENTRY
