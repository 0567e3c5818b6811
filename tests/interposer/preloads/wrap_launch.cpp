// SPDX-License-Identifier: Apache-2.0
// Counts launches, as profilers do. With NVS_WRAP_OPENS it takes the driver's function out of the
// driver; else that of whoever comes next.
#include <atomic>

#include <dlfcn.h>

#include "cuda_api/cuda.h"

namespace {

std::atomic<unsigned> g_count{0};

decltype(&cuLaunchKernel) next_launch() {
#ifdef NVS_WRAP_OPENS
  void* const place = ::dlopen("libcuda.so.1", RTLD_NOW);
#else
  void* const place = RTLD_NEXT;
#endif
  return reinterpret_cast<decltype(&cuLaunchKernel)>(::dlsym(place, "cuLaunchKernel"));
}

}  // namespace

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  static auto* const next = next_launch();
  g_count.fetch_add(1);
  if (next == nullptr) return CUDA_ERROR_NOT_FOUND;
  return next(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
              parameters, extra);
}

extern "C" [[gnu::visibility("default")]] unsigned NVS_WRAP_COUNTER() { return g_count.load(); }
