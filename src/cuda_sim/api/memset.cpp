// SPDX-License-Identifier: Apache-2.0
// Entry points: filling device memory.
#include "cuda_sim/api/call.h"
#include "cuda_sim/api/work_rules.h"
#include "cuda_sim/work/graph_memory.h"
#include "cuda_sim/work/memset_op.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace nvs::sim {

CUresult check_memset(Driver& d, const MemsetWork& work) {
  const std::uint64_t extent = memset_extent(work);
  if (extent == 0) return CUDA_SUCCESS;
  if (work.dst % work.element_size != 0) return CUDA_ERROR_INVALID_VALUE;
  if (work.height > 1 &&
      (work.pitch < work.width * work.element_size || work.pitch % work.element_size != 0)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Mapping* mapping = d.space.find(work.dst);
  const unsigned gpu = mapping == nullptr ? 0 : mapping->physical->gpu();
  if (d.space.view(work.dst, extent, gpu, Access::read_write)) return CUDA_SUCCESS;
  // What a graph allocates first and fills then is not there yet.
  return is_graph_memory(d, work.dst, extent) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace nvs::sim

namespace {

CUresult fill(const MemsetWork& work, CUstream handle) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  if (const CUresult result = check_memset(d, work); result != CUDA_SUCCESS) return result;
  if (memset_extent(work) == 0) return CUDA_SUCCESS;
  return submit(d, guard, *stream, work);
}

MemsetWork row(CUdeviceptr dst, unsigned value, unsigned element, std::size_t count) {
  return {
      .dst = dst, .pitch = 0, .value = value, .element_size = element, .width = count, .height = 1};
}

MemsetWork rows(CUdeviceptr dst, std::size_t pitch, unsigned value, unsigned element,
                std::size_t width, std::size_t height) {
  return {.dst = dst,
          .pitch = pitch,
          .value = value,
          .element_size = element,
          .width = width,
          .height = height};
}

}  // namespace

NVS_SIM_STREAM(cuMemsetD8_v2, _ptds, (CUdeviceptr dst, unsigned char value, size_t n), dst, value,
               n) {
  return fill(row(dst, value, 1, n), nullptr);
}
NVS_SIM_STREAM(cuMemsetD16_v2, _ptds, (CUdeviceptr dst, unsigned short value, size_t n), dst, value,
               n) {
  return fill(row(dst, value, 2, n), nullptr);
}
NVS_SIM_STREAM(cuMemsetD32_v2, _ptds, (CUdeviceptr dst, unsigned int value, size_t n), dst, value,
               n) {
  return fill(row(dst, value, 4, n), nullptr);
}
NVS_SIM_STREAM(cuMemsetD8Async, _ptsz,
               (CUdeviceptr dst, unsigned char value, size_t n, CUstream stream), dst, value, n,
               stream) {
  return fill(row(dst, value, 1, n), stream);
}
NVS_SIM_STREAM(cuMemsetD16Async, _ptsz,
               (CUdeviceptr dst, unsigned short value, size_t n, CUstream stream), dst, value, n,
               stream) {
  return fill(row(dst, value, 2, n), stream);
}
NVS_SIM_STREAM(cuMemsetD32Async, _ptsz,
               (CUdeviceptr dst, unsigned int value, size_t n, CUstream stream), dst, value, n,
               stream) {
  return fill(row(dst, value, 4, n), stream);
}
NVS_SIM_STREAM(cuMemsetD2D8_v2, _ptds,
               (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height),
               dst, pitch, value, width, height) {
  return fill(rows(dst, pitch, value, 1, width, height), nullptr);
}
NVS_SIM_STREAM(cuMemsetD2D16_v2, _ptds,
               (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height),
               dst, pitch, value, width, height) {
  return fill(rows(dst, pitch, value, 2, width, height), nullptr);
}
NVS_SIM_STREAM(cuMemsetD2D32_v2, _ptds,
               (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height),
               dst, pitch, value, width, height) {
  return fill(rows(dst, pitch, value, 4, width, height), nullptr);
}
NVS_SIM_STREAM(cuMemsetD2D8Async, _ptsz,
               (CUdeviceptr dst, size_t pitch, unsigned char value, size_t width, size_t height,
                CUstream stream),
               dst, pitch, value, width, height, stream) {
  return fill(rows(dst, pitch, value, 1, width, height), stream);
}
NVS_SIM_STREAM(cuMemsetD2D16Async, _ptsz,
               (CUdeviceptr dst, size_t pitch, unsigned short value, size_t width, size_t height,
                CUstream stream),
               dst, pitch, value, width, height, stream) {
  return fill(rows(dst, pitch, value, 2, width, height), stream);
}
NVS_SIM_STREAM(cuMemsetD2D32Async, _ptsz,
               (CUdeviceptr dst, size_t pitch, unsigned int value, size_t width, size_t height,
                CUstream stream),
               dst, pitch, value, width, height, stream) {
  return fill(rows(dst, pitch, value, 4, width, height), stream);
}
