// SPDX-License-Identifier: Apache-2.0
// Entry points: copies. Every variant comes down to one geometry, a stream, and whether the caller
// waits.
#include <cstring>

#include "cuda_sim/api/call.h"
#include "cuda_sim/work/copy_op.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace {

// A pageable source of this size or less is read before the call returns, and the call does not
// wait for the copy.
constexpr std::size_t kStagedMax = 64 << 10;

enum class Wait { no, yes };

CUresult copy(const CUDA_MEMCPY3D& geometry, CUstream handle, Wait wait) {
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  CopyPlan plan;
  const unsigned gpu = stream->context->gpu;
  if (const CUresult result = plan_copy(d, gpu, geometry, plan); result != CUDA_SUCCESS) {
    return result;
  }
  if (stream->capture) {
    if (wait == Wait::yes) return invalidate(*stream->capture);
    return submit(d, guard, *stream, CopyWork{.geometry = geometry, .staged = nullptr});
  }
  CopyWork work{.geometry = geometry, .staged = nullptr};
  const bool pageable_in =
      plan.src.end == CopyEnd::pageable && plan.dst.end == CopyEnd::device && plan.bytes() > 0;
  const bool pageable_out =
      plan.dst.end == CopyEnd::pageable && plan.src.end == CopyEnd::device && plan.bytes() > 0;
  const bool staged = pageable_in && wait == Wait::no && plan.extent(plan.src) <= kStagedMax;
  if (staged) {
    const auto* begin = reinterpret_cast<const std::byte*>(plan.src.base);
    work.staged = std::make_shared<std::vector<std::byte>>(begin, begin + plan.extent(plan.src));
  }
  OpPtr op;
  if (const CUresult result = submit(d, guard, *stream, std::move(work), &op);
      result != CUDA_SUCCESS) {
    return result;
  }
  const bool waits = wait == Wait::yes || pageable_out || (pageable_in && !staged);
  if (!waits) return CUDA_SUCCESS;
  stream->context->engine->wait(guard, op);
  return stream->context->sticky;
}

CUDA_MEMCPY3D line(CUmemorytype to, std::uint64_t dst, CUmemorytype from, std::uint64_t src,
                   std::size_t bytes) {
  CUDA_MEMCPY3D g{};
  g.dstMemoryType = to;
  g.dstDevice = dst;
  g.dstHost = reinterpret_cast<void*>(dst);
  g.srcMemoryType = from;
  g.srcDevice = src;
  g.srcHost = reinterpret_cast<const void*>(src);
  g.WidthInBytes = bytes;
  g.Height = 1;
  g.Depth = 1;
  return g;
}

CUDA_MEMCPY3D device_to_device(CUdeviceptr dst, CUdeviceptr src, std::size_t bytes) {
  return line(CU_MEMORYTYPE_DEVICE, dst, CU_MEMORYTYPE_DEVICE, src, bytes);
}

CUDA_MEMCPY3D host_to_device(CUdeviceptr dst, const void* src, std::size_t bytes) {
  return line(CU_MEMORYTYPE_DEVICE, dst, CU_MEMORYTYPE_HOST, reinterpret_cast<std::uint64_t>(src),
              bytes);
}

CUDA_MEMCPY3D device_to_host(void* dst, CUdeviceptr src, std::size_t bytes) {
  return line(CU_MEMORYTYPE_HOST, reinterpret_cast<std::uint64_t>(dst), CU_MEMORYTYPE_DEVICE, src,
              bytes);
}

// Either end may be any memory: what is not the driver's is the host's.
CUDA_MEMCPY3D any_to_any(CUdeviceptr dst, CUdeviceptr src, std::size_t bytes) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto type = [&](std::uint64_t address) {
    return d.space.find(address) != nullptr ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  };
  return line(type(dst), dst, type(src), src, bytes);
}

CUDA_MEMCPY3D plane(const CUDA_MEMCPY2D& c) {
  CUDA_MEMCPY3D g{};
  g.srcXInBytes = c.srcXInBytes;
  g.srcY = c.srcY;
  g.srcMemoryType = c.srcMemoryType;
  g.srcHost = c.srcHost;
  g.srcDevice = c.srcDevice;
  g.srcArray = c.srcArray;
  g.srcPitch = c.srcPitch;
  g.dstXInBytes = c.dstXInBytes;
  g.dstY = c.dstY;
  g.dstMemoryType = c.dstMemoryType;
  g.dstHost = c.dstHost;
  g.dstDevice = c.dstDevice;
  g.dstArray = c.dstArray;
  g.dstPitch = c.dstPitch;
  g.WidthInBytes = c.WidthInBytes;
  g.Height = c.Height;
  g.Depth = 1;
  return g;
}

// Measured on an H200: a peer copy may leave its contexts out, since addresses say where they are.
CUresult check_peer(CUcontext handle) {
  if (handle == nullptr) return CUDA_SUCCESS;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  return d.contexts.find(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult peer_copy(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                   std::size_t bytes, CUstream stream) {
  for (const CUcontext context : {dst_context, src_context}) {
    if (const CUresult result = check_peer(context); result != CUDA_SUCCESS) return result;
  }
  return copy(device_to_device(dst, src, bytes), stream, Wait::no);
}

CUDA_MEMCPY3D volume(const CUDA_MEMCPY3D_PEER& c) {
  static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));
  CUDA_MEMCPY3D g{};
  std::memcpy(&g, &c, sizeof g);
  g.reserved0 = nullptr;
  g.reserved1 = nullptr;
  return g;
}

}  // namespace

NVS_SIM_STREAM(cuMemcpy, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), dst, src, bytes) {
  return copy(any_to_any(dst, src, bytes), nullptr, Wait::yes);
}
NVS_SIM_STREAM(cuMemcpyAsync, _ptsz,
               (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), dst, src, bytes,
               stream) {
  return copy(any_to_any(dst, src, bytes), stream, Wait::no);
}
NVS_SIM_STREAM(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr dst, const void* src, size_t bytes), dst, src,
               bytes) {
  return copy(host_to_device(dst, src, bytes), nullptr, Wait::yes);
}
NVS_SIM_STREAM(cuMemcpyHtoDAsync_v2, _ptsz,
               (CUdeviceptr dst, const void* src, size_t bytes, CUstream stream), dst, src, bytes,
               stream) {
  return copy(host_to_device(dst, src, bytes), stream, Wait::no);
}
NVS_SIM_STREAM(cuMemcpyDtoH_v2, _ptds, (void* dst, CUdeviceptr src, size_t bytes), dst, src,
               bytes) {
  return copy(device_to_host(dst, src, bytes), nullptr, Wait::yes);
}
NVS_SIM_STREAM(cuMemcpyDtoHAsync_v2, _ptsz,
               (void* dst, CUdeviceptr src, size_t bytes, CUstream stream), dst, src, bytes,
               stream) {
  return copy(device_to_host(dst, src, bytes), stream, Wait::no);
}
NVS_SIM_STREAM(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr dst, CUdeviceptr src, size_t bytes), dst, src,
               bytes) {
  return copy(device_to_device(dst, src, bytes), nullptr, Wait::no);
}
NVS_SIM_STREAM(cuMemcpyDtoDAsync_v2, _ptsz,
               (CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream), dst, src, bytes,
               stream) {
  return copy(device_to_device(dst, src, bytes), stream, Wait::no);
}
NVS_SIM_STREAM(cuMemcpyPeer, _ptds,
               (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                size_t bytes),
               dst, dst_context, src, src_context, bytes) {
  return peer_copy(dst, dst_context, src, src_context, bytes, nullptr);
}
NVS_SIM_STREAM(cuMemcpyPeerAsync, _ptsz,
               (CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src, CUcontext src_context,
                size_t bytes, CUstream stream),
               dst, dst_context, src, src_context, bytes, stream) {
  return peer_copy(dst, dst_context, src, src_context, bytes, stream);
}
NVS_SIM_STREAM(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D* c), c) {
  return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(plane(*c), nullptr, Wait::yes);
}
NVS_SIM_STREAM(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D* c), c) {
  return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(plane(*c), nullptr, Wait::yes);
}
NVS_SIM_STREAM(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D* c, CUstream stream), c, stream) {
  return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(plane(*c), stream, Wait::no);
}
NVS_SIM_STREAM(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D* c), c) {
  return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(*c, nullptr, Wait::yes);
}
NVS_SIM_STREAM(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D* c, CUstream stream), c, stream) {
  return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(*c, stream, Wait::no);
}
NVS_SIM_STREAM(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER* c), c) {
  return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(volume(*c), nullptr, Wait::yes);
}
NVS_SIM_STREAM(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER* c, CUstream stream), c,
               stream) {
  return c == nullptr ? CUDA_ERROR_INVALID_VALUE : copy(volume(*c), stream, Wait::no);
}
