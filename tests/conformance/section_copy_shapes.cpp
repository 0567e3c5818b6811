// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

constexpr std::size_t kWidth = 48;
constexpr std::size_t kHeight = 8;

std::vector<std::uint8_t> counting(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  std::iota(data.begin(), data.end(), std::uint8_t{1});
  return data;
}

CUDA_MEMCPY2D host_to_device(const void* host, std::size_t host_pitch, CUdeviceptr device,
                             std::size_t device_pitch) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = host;
  copy.srcPitch = host_pitch;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = device_pitch;
  copy.WidthInBytes = kWidth;
  copy.Height = kHeight;
  return copy;
}

void flat(Run& run) {
  const auto source = counting(64 * kHeight);
  CUdeviceptr device = 0;
  std::size_t pitch = 0;
  SETUP(cuMemAllocPitch_v2, &device, &pitch, kWidth, kHeight, 4);
  CUDA_MEMCPY2D copy = host_to_device(source.data(), 64, device, pitch);
  CALL("host to device", cuMemcpy2D_v2, &copy);
  std::vector<std::uint8_t> back(kWidth * kHeight);
  CUDA_MEMCPY2D out{};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = device;
  out.srcPitch = pitch;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = back.data();
  out.dstPitch = kWidth;
  out.WidthInBytes = kWidth;
  out.Height = kHeight;
  CALL("device to host", cuMemcpy2D_v2, &out);
  run.show("row 3 arrived", back[3 * kWidth + 5] == source[3 * 64 + 5]);
  out.srcXInBytes = 4;
  out.srcY = 2;
  out.WidthInBytes = 8;
  out.Height = 2;
  CALL("part of it", cuMemcpy2DUnaligned_v2, &out);
  run.show("part arrived", back[kWidth] == source[3 * 64 + 4]);
  CALL("on the null stream", cuMemcpy2DAsync_v2, &out, nullptr);
  CALL("", cuCtxSynchronize);
  out.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  out.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  out.dstDevice = address_of(back.data());
  CALL("unified", cuMemcpy2D_v2, &out);
}

void flat_errors(Run& run) {
  const auto source = counting(64 * kHeight);
  const CUdeviceptr device = allocate(run, 64 * kHeight);
  const CUDA_MEMCPY2D good = host_to_device(source.data(), 64, device, 64);
  CALL("null", cuMemcpy2D_v2, nullptr);
  CUDA_MEMCPY2D copy = good;
  copy.dstPitch = kWidth - 1;
  CALL("destination pitch under the width", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.srcPitch = kWidth - 1;
  CALL("source pitch under the width", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.srcPitch = 0;
  CALL("source pitch 0", cuMemcpy2D_v2, &copy);
  copy.Height = 1;
  CALL("source pitch 0, height 1", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.Height = 0;
  CALL("height 0", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.WidthInBytes = 0;
  CALL("width 0", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.Height = 100000;
  CALL("destination too small", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.dstXInBytes = 32;
  CALL("x offset beyond the pitch", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.dstMemoryType = as_enum<CUmemorytype>(0);
  CALL("memory type 0", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.dstMemoryType = as_enum<CUmemorytype>(9);
  CALL("memory type 9", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.srcHost = nullptr;
  CALL("null host", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.dstDevice = 0;
  CALL("null device", cuMemcpy2D_v2, &copy);
  copy = good;
  copy.dstPitch = std::size_t{1} << 32;
  CALL("pitch of 4 GiB", cuMemcpy2D_v2, &copy);
  copy = good;
  CALL("good", cuMemcpy2DAsync_v2, &copy, CU_STREAM_PER_THREAD);
  CALL("after all", cuCtxSynchronize);
}

void deep(Run& run) {
  constexpr std::size_t kDepth = 3;
  const auto source = counting(kWidth * kHeight * kDepth);
  const CUdeviceptr device = allocate(run, 64 * kHeight * kDepth);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = source.data();
  copy.srcPitch = kWidth;
  copy.srcHeight = kHeight;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = device;
  copy.dstPitch = 64;
  copy.dstHeight = kHeight;
  copy.WidthInBytes = kWidth;
  copy.Height = kHeight;
  copy.Depth = kDepth;
  CALL("host to device", cuMemcpy3D_v2, &copy);
  const auto back = read_bytes(run, device, 64 * kHeight * kDepth);
  run.show("slice 2, row 1 arrived",
           back[(2 * kHeight + 1) * 64 + 7] == source[(2 * kHeight + 1) * kWidth + 7]);
  CALL("on the null stream", cuMemcpy3DAsync_v2, &copy, nullptr);
  CALL("null", cuMemcpy3D_v2, nullptr);
  CUDA_MEMCPY3D bad = copy;
  bad.Depth = 0;
  CALL("depth 0", cuMemcpy3D_v2, &bad);
  bad = copy;
  bad.dstHeight = kHeight - 1;
  CALL("destination height under the height", cuMemcpy3D_v2, &bad);
  bad = copy;
  bad.srcHeight = 0;
  CALL("source height 0", cuMemcpy3D_v2, &bad);
  bad = copy;
  bad.dstPitch = kWidth - 1;
  CALL("destination pitch under the width", cuMemcpy3D_v2, &bad);
  bad = copy;
  bad.Depth = 100000;
  CALL("destination too small", cuMemcpy3D_v2, &bad);
  bad = copy;
  bad.srcLOD = 1;
  CALL("level of detail 1", cuMemcpy3D_v2, &bad);
  bad = copy;
  bad.reserved0 = &bad;
  CALL("reserved field set", cuMemcpy3D_v2, &bad);
  CALL("after all", cuCtxSynchronize);
}

void deep_peer(Run& run) {
  const CUdeviceptr first = allocate(run, 4096);
  const CUdeviceptr second = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, first, 5, 4096);
  CUDA_MEMCPY3D_PEER copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = first;
  copy.srcPitch = 64;
  copy.srcHeight = 8;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = second;
  copy.dstPitch = 64;
  copy.dstHeight = 8;
  copy.WidthInBytes = 64;
  copy.Height = 8;
  copy.Depth = 8;
  copy.srcContext = copy.dstContext = current_context(run);
  CALL("to itself", cuMemcpy3DPeer, &copy);
  run.show("arrived", all_bytes(run, second, 4096, 5));
  CALL("on the null stream", cuMemcpy3DPeerAsync, &copy, nullptr);
  copy.srcContext = nullptr;
  CALL("null context", cuMemcpy3DPeer, &copy);
}

}  // namespace

Section copy_shapes_section() {
  return {"copy_shapes",
          Start::kContext,
          {{"flat", flat},
           {"flat_errors", flat_errors, Process::kOwn},
           {"deep", deep},
           {"deep_peer", deep_peer}}};
}

}  // namespace nvs::conformance
