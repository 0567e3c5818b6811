// SPDX-License-Identifier: Apache-2.0
// One process's side of a GPU for programs that measure it: a driver that is opened at run time, a
// kernel that takes as long as it has elements, and waits that spin. It needs nothing but a C++
// library, since the programs are compiled by hand on GPU machines.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <dlfcn.h>

#include "cuda_api/cuda.h"

namespace nvs::programs {

inline constexpr unsigned kThreads = 512;
inline constexpr unsigned kBlocksPerMultiprocessor = 16;

// The kernel of the workloads of that name, so that the simulator knows it, but with four floats a
// thread: it is the memory that takes the time. A kernel that waits for a clock would not show what
// it lost.
inline constexpr char kPtx[] = R"(
.version 6.3
.target sm_75
.address_size 64
.visible .entry nvs_step(.param .u64 dst, .param .f32 value, .param .u64 n)
{
  .reg .pred %done;
  .reg .b32 %block, %threads, %thread, %blocks;
  .reg .b64 %base, %count, %i, %offset, %stride, %at;
  .reg .f32 %value, %a, %b, %c, %d;
  ld.param.u64 %base, [dst];
  ld.param.f32 %value, [value];
  ld.param.u64 %count, [n];
  cvta.to.global.u64 %base, %base;
  shr.u64 %count, %count, 2;
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %i, %block, %threads;
  cvt.u64.u32 %offset, %thread;
  add.u64 %i, %i, %offset;
  mul.wide.u32 %stride, %blocks, %threads;
again:
  setp.ge.u64 %done, %i, %count;
  @%done bra end;
  shl.b64 %at, %i, 4;
  add.u64 %at, %base, %at;
  ld.global.v4.f32 {%a, %b, %c, %d}, [%at];
  add.f32 %a, %a, %value;
  add.f32 %b, %b, %value;
  add.f32 %c, %c, %value;
  add.f32 %d, %d, %value;
  st.global.v4.f32 [%at], {%a, %b, %c, %d};
  add.u64 %i, %i, %stride;
  bra again;
end:
  ret;
}
)";

[[noreturn]] inline void fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

inline double now_us() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

template <class Condition>
void spin_until(Condition condition) {
  while (!condition()) {
  }
}

class Driver {
 public:
  void check(CUresult result, const char* call) const {
    if (result == CUDA_SUCCESS) return;
    const char* text = nullptr;
    if (cuGetErrorName(result, &text) != CUDA_SUCCESS) text = "an error without a name";
    fail(call, text);
  }

 private:
  static void* open() {
    const char* named = std::getenv("NVSHARE_CUDA_LIBRARY");
    void* library = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW);
    if (library == nullptr) fail("there is no CUDA driver", dlerror());
    return library;
  }
  template <class Function>
  Function find(const char* name) const {
    void* symbol = dlsym(library_, name);
    if (symbol == nullptr) fail(name, "the driver does not have this function");
    return reinterpret_cast<Function>(symbol);
  }

  void* library_ = open();

 public:
#define FUNCTION(name) decltype(&::name) name = find<decltype(&::name)>(#name)
  FUNCTION(cuGetErrorName);
  FUNCTION(cuInit);
  FUNCTION(cuDeviceGet);
  FUNCTION(cuDeviceGetName);
  FUNCTION(cuDeviceGetAttribute);
  FUNCTION(cuDeviceTotalMem_v2);
  FUNCTION(cuCtxCreate_v2);
  FUNCTION(cuModuleLoadData);
  FUNCTION(cuModuleGetFunction);
  FUNCTION(cuMemAlloc_v2);
  FUNCTION(cuMemsetD32_v2);
  FUNCTION(cuStreamCreate);
  FUNCTION(cuStreamSynchronize);
  FUNCTION(cuEventCreate);
  FUNCTION(cuEventRecord);
  FUNCTION(cuEventQuery);
  FUNCTION(cuLaunchKernel);
  FUNCTION(cuCtxGetCurrent);
  FUNCTION(cuCtxSetCurrent);
  FUNCTION(cuMemHostAlloc);
  FUNCTION(cuMemHostRegister_v2);
  FUNCTION(cuMemHostUnregister);
  FUNCTION(cuMemcpyDtoHAsync_v2);
  FUNCTION(cuMemcpyHtoDAsync_v2);
  FUNCTION(cuMemCreate);
  FUNCTION(cuMemRelease);
  FUNCTION(cuMemAddressReserve);
  FUNCTION(cuMemMap);
  FUNCTION(cuMemUnmap);
  FUNCTION(cuMemSetAccess);
#undef FUNCTION
};
#define CALL(function, ...) driver_.check(driver_.function(__VA_ARGS__), #function)

// One process's side of the GPU: a context, a stream, and memory to work on.
class Gpu {
 public:
  Gpu() {
    CALL(cuInit, 0);
    CUdevice device{};
    CALL(cuDeviceGet, &device, 0);
    CALL(cuDeviceGetName, name_.data(), static_cast<int>(name_.size()), device);
    int multiprocessors = 0;
    CALL(cuDeviceGetAttribute, &multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    blocks_ = static_cast<unsigned>(multiprocessors) * kBlocksPerMultiprocessor;
    CUcontext context = nullptr;
    CALL(cuCtxCreate_v2, &context, 0, device);
    CUmodule module = nullptr;
    CALL(cuModuleLoadData, &module, kPtx);
    CALL(cuModuleGetFunction, &kernel_, module, "nvs_step");
    // Enough for 1.7 ms on any card: the larger its memory, the faster it is.
    std::size_t total = 0;
    CALL(cuDeviceTotalMem_v2, &total, device);
    elements_max_ = total / 20 / sizeof(float);
    CALL(cuMemAlloc_v2, &memory_, elements_max_ * sizeof(float));
    CALL(cuMemsetD32_v2, memory_, 0, elements_max_);
    CALL(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING);
    CALL(cuEventCreate, &before_last_, CU_EVENT_DISABLE_TIMING);
    CALL(cuEventCreate, &last_, CU_EVENT_DISABLE_TIMING);
  }

  const char* name() const { return name_.data(); }
  std::uint64_t elements_max() const { return elements_max_; }
  const Driver& driver() const { return driver_; }
  CUstream stream() const { return stream_; }
  CUdeviceptr memory() const { return memory_; }

  // Submits kernels, and marks the end of the last one and of the one before.
  void submit(std::uint64_t elements, int kernels) {
    for (int i = 0; i < kernels; ++i) {
      launch(elements);
      if (i == kernels - 2) CALL(cuEventRecord, before_last_, stream_);
    }
    CALL(cuEventRecord, last_, stream_);
  }
  void wait_for_one_before_last() { wait_for(before_last_); }
  void wait_for_last() { wait_for(last_); }

  // Of one kernel, where many run back to back.
  double measure_us(std::uint64_t elements, int kernels) {
    const double start = now_us();
    for (int i = 0; i < kernels; ++i) launch(elements);
    CALL(cuStreamSynchronize, stream_);
    return (now_us() - start) / kernels;
  }

  void launch(std::uint64_t elements) {
    float value = 1;
    std::array<void*, 3> arguments = {&memory_, &value, &elements};
    CALL(cuLaunchKernel, kernel_, blocks_, 1, 1, kThreads, 1, 1, 0, stream_, arguments.data(),
         nullptr);
  }

 private:
  // Asks again and again: whoever sleeps is told too late.
  void wait_for(CUevent event) {
    CUresult result = CUDA_ERROR_NOT_READY;
    spin_until([&] { return (result = driver_.cuEventQuery(event)) != CUDA_ERROR_NOT_READY; });
    driver_.check(result, "cuEventQuery");
  }

  Driver driver_;
  std::array<char, 128> name_{};
  unsigned blocks_ = 0;
  CUfunction kernel_ = nullptr;
  CUdeviceptr memory_ = 0;
  std::uint64_t elements_max_ = 0;
  CUstream stream_ = nullptr;
  CUevent before_last_ = nullptr, last_ = nullptr;
};
#undef CALL

}  // namespace nvs::programs
