// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu.h"

#include <cstddef>

#include "workloads/kernels/ptx.h"

namespace nvs::bench {
namespace {

constexpr unsigned kThreads = 512;
constexpr unsigned kBlocksPerMultiprocessor = 8;
// nvs_matmul wants blocks of 32 x 8 threads, one for each tile of 32 x 32 elements.
constexpr unsigned kTile = 32;
constexpr unsigned kTileRows = 8;

}  // namespace

Gpu::Gpu(const Machine& machine, int ordinal) : machine_(machine) {
  NVS_CALL(driver(), cuDeviceGet, &device_, ordinal);
  CUcontext context = nullptr;
  NVS_CALL(driver(), cuDevicePrimaryCtxRetain, &context, device_);
  NVS_CALL(driver(), cuCtxSetCurrent, context);
  int multiprocessors = 0;
  NVS_CALL(driver(), cuDeviceGetAttribute, &multiprocessors,
           CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_);
  blocks_ = static_cast<unsigned>(multiprocessors) * kBlocksPerMultiprocessor;
  NVS_CALL(driver(), cuModuleLoadData, &module_, workloads::kernels::ptx());
  fill_ = function("nvs_fill");
  step_ = function("nvs_step");
  add_ = function("nvs_add");
  matmul_ = function("nvs_matmul");
}

Gpu::~Gpu() {
  driver().cuModuleUnload(module_);
  driver().cuDevicePrimaryCtxRelease_v2(device_);
}

CUfunction Gpu::function(const char* name) const {
  CUfunction result = nullptr;
  NVS_CALL(driver(), cuModuleGetFunction, &result, module_, name);
  return result;
}

std::uint64_t Gpu::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  NVS_CALL(driver(), cuMemGetInfo_v2, &free, &total);
  return free;
}

void Gpu::synchronize() const { check(driver(), driver().cuCtxSynchronize(), "cuCtxSynchronize"); }

void Gpu::launch(CUfunction kernel, unsigned blocks, CUstream stream, void** arguments) const {
  NVS_CALL(driver(), cuLaunchKernel, kernel, blocks, 1, 1, kThreads, 1, 1, 0, stream, arguments,
           nullptr);
}

void Gpu::fill(CUstream stream, CUdeviceptr data, float value, std::uint64_t count) const {
  void* arguments[] = {&data, &value, &count};
  launch(fill_, blocks_, stream, arguments);
}

void Gpu::add(CUstream stream, CUdeviceptr sum, CUdeviceptr term, std::uint64_t count) const {
  void* arguments[] = {&sum, &term, &count};
  launch(add_, blocks_, stream, arguments);
}

void Gpu::tiny(CUstream stream, CUdeviceptr data) const {
  float value = 1;
  std::uint64_t count = kTinyCount;
  void* arguments[] = {&data, &value, &count};
  launch(step_, 1, stream, arguments);
}

void Gpu::matmul(CUstream stream, CUdeviceptr product, CUdeviceptr left, CUdeviceptr right,
                 std::uint32_t rows) const {
  void* arguments[] = {&product, &left, &right, &rows};
  const unsigned tiles = (rows + kTile - 1) / kTile;
  NVS_CALL(driver(), cuLaunchKernel, matmul_, tiles, tiles, 1, kTile, kTileRows, 1, 0, stream,
           arguments, nullptr);
}

DeviceBuffer::DeviceBuffer(const Gpu& gpu, std::uint64_t bytes) : gpu_(gpu) {
  NVS_CALL(gpu_.driver(), cuMemAlloc_v2, &address_, bytes);
}

HostBuffer::HostBuffer(const Gpu& gpu, std::uint64_t bytes) : gpu_(gpu) {
  NVS_CALL(gpu_.driver(), cuMemHostAlloc, &data_, bytes, 0);
}

Stream::Stream(const Gpu& gpu) : gpu_(gpu) {
  NVS_CALL(gpu_.driver(), cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
}

void Stream::synchronize() const { NVS_CALL(gpu_.driver(), cuStreamSynchronize, stream_); }

Event::Event(const Gpu& gpu, Kind kind) : gpu_(gpu) {
  NVS_CALL(gpu_.driver(), cuEventCreate, &event_,
           kind == Kind::kTiming ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING);
}

void Event::record(CUstream stream) const {
  NVS_CALL(gpu_.driver(), cuEventRecord, event_, stream);
}

void Event::synchronize() const { NVS_CALL(gpu_.driver(), cuEventSynchronize, event_); }

}  // namespace nvs::bench
