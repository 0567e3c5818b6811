// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"

#include <algorithm>
#include <atomic>

namespace nvs::conformance {
namespace {

std::atomic<bool> g_held{false};

}  // namespace

Kernels load_kernels(Run& run) {
  Kernels kernels;
  SETUP(cuModuleLoadData, &kernels.module, ptx());
  SETUP(cuModuleGetFunction, &kernels.fill, kernels.module, "nvs_fill");
  SETUP(cuModuleGetFunction, &kernels.step, kernels.module, "nvs_step");
  SETUP(cuModuleGetFunction, &kernels.add, kernels.module, "nvs_add");
  SETUP(cuModuleGetFunction, &kernels.spin, kernels.module, "nvs_spin");
  return kernels;
}

CUdeviceptr allocate(Run& run, std::size_t bytes) {
  CUdeviceptr address = 0;
  SETUP(cuMemAlloc_v2, &address, bytes);
  return address;
}

CUstream new_stream(Run& run) {
  CUstream stream = nullptr;
  SETUP(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  return stream;
}

CUevent new_event(Run& run) {
  CUevent event = nullptr;
  SETUP(cuEventCreate, &event, CU_EVENT_DEFAULT);
  return event;
}

CUcontext current_context(Run& run) {
  CUcontext context = nullptr;
  SETUP(cuCtxGetCurrent, &context);
  return context;
}

CUcontext new_context(Run& run) {
  CUcontext context = nullptr;
  SETUP(cuCtxCreate_v4, &context, nullptr, 0, 0);
  return context;
}

CUmemAllocationProp device_prop() {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = 0;
  return prop;
}

CUresult launch_fill(Run& run, CUfunction function, CUdeviceptr destination, float value,
                     std::uint64_t count, CUstream stream) {
  FillArguments arguments(destination, value, count);
  const unsigned blocks = static_cast<unsigned>((count + 255) / 256);
  return run.driver().cuLaunchKernel(function, blocks, 1, 1, 256, 1, 1, 0, stream,
                                     arguments.pointers, nullptr);
}

CUresult launch_spin(Run& run, CUfunction spin, std::uint64_t nanoseconds, CUstream stream) {
  void* arguments[] = {&nanoseconds};
  return run.driver().cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

void hold(Run& run, CUstream stream) {
  g_held = true;
  SETUP(
      cuLaunchHostFunc, stream, [](void*) { g_held.wait(true); }, nullptr);
}

void let_go() {
  g_held = false;
  g_held.notify_all();
}

std::vector<std::uint8_t> read_bytes(Run& run, CUdeviceptr source, std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  SETUP(cuCtxSynchronize);
  SETUP(cuMemcpyDtoH_v2, data.data(), source, bytes);
  return data;
}

float read_float(Run& run, CUdeviceptr source, std::size_t index) {
  float value = 0;
  SETUP(cuCtxSynchronize);
  SETUP(cuMemcpyDtoH_v2, &value, source + index * sizeof(float), sizeof(float));
  return value;
}

bool all_bytes(Run& run, CUdeviceptr source, std::size_t bytes, std::uint8_t value) {
  const auto data = read_bytes(run, source, bytes);
  return std::all_of(data.begin(), data.end(),
                     [value](std::uint8_t byte) { return byte == value; });
}

std::string relative(CUdeviceptr address, CUdeviceptr base) {
  if (address == 0) return "null";
  if (address >= base) return cat("base + ", address - base);
  return cat("base - ", base - address);
}

}  // namespace nvs::conformance
