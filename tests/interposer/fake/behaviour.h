// SPDX-License-Identifier: Apache-2.0
// What the fake driver does in the mode kFakeWorks: an Act for each function that does something.
// All others succeed, and hand out a fresh handle or address if their first parameter asks for one.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "cuda_api/cuda.h"
#include "tests/interposer/fake/state.h"

namespace nvs::fake {

inline constexpr int kDevices = 2;
/// How far apart handles and addresses are.
inline constexpr std::uint64_t kStep = 0x10'0000;

/// Handles and addresses that were never given out before, the same in every run.
inline std::uint64_t fresh_number() {
  static std::atomic<std::uint64_t> next{0x7100'0000'0000};
  return next.fetch_add(kStep);
}

/// A context knows its device by the lowest digits of its handle.
inline CUcontext context_on(CUdevice device, std::uint64_t number) {
  return reinterpret_cast<CUcontext>(number + static_cast<unsigned>(device));
}
inline thread_local CUcontext t_current = nullptr;

template <Row R>
struct Act {};

template <>
struct Act<Row::cuDriverGetVersion> {
  static CUresult act(int* version) {
    *version = 13000;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuDeviceGetCount> {
  static CUresult act(int* count) {
    *count = kDevices;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuDeviceGet> {
  static CUresult act(CUdevice* device, int ordinal) {
    if (ordinal < 0 || ordinal >= kDevices) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuCtxCreate_v2> {
  static CUresult act(CUcontext* context, unsigned, CUdevice device) {
    if (device < 0 || device >= kDevices) return CUDA_ERROR_INVALID_DEVICE;
    t_current = *context = context_on(device, fresh_number());
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuDevicePrimaryCtxRetain> {
  static CUresult act(CUcontext* context, CUdevice device) {
    if (device < 0 || device >= kDevices) return CUDA_ERROR_INVALID_DEVICE;
    *context = context_on(device, 0x7000'0000'0100);
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuCtxSetCurrent> {
  static CUresult act(CUcontext context) {
    t_current = context;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuCtxGetCurrent> {
  static CUresult act(CUcontext* context) {
    *context = t_current;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuCtxGetDevice> {
  static CUresult act(CUdevice* device) {
    if (t_current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *device = static_cast<CUdevice>(reinterpret_cast<std::uintptr_t>(t_current) & 0xFU);
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuMemGetInfo_v2> {
  static CUresult act(std::size_t* free, std::size_t* total) {
    *free = std::size_t{12} << 30U;
    *total = std::size_t{16} << 30U;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuMemGetAddressRange_v2> {
  static CUresult act(CUdeviceptr* base, std::size_t* size, CUdeviceptr address) {
    if (base != nullptr) *base = address / kStep * kStep;
    if (size != nullptr) *size = kStep;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuMemAllocPitch_v2> {
  static CUresult act(CUdeviceptr* address, std::size_t* pitch, std::size_t width, std::size_t,
                      unsigned) {
    *address = fresh_number();
    *pitch = (width + 511) / 512 * 512;
    return CUDA_SUCCESS;
  }
};

template <>
struct Act<Row::cuMemHostAlloc> {
  static CUresult act(void** memory, std::size_t bytes, unsigned) {
    *memory = std::malloc(bytes);
    return *memory != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  }
};

template <>
struct Act<Row::cuMemFreeHost> {
  static CUresult act(void* memory) {
    std::free(memory);
    return CUDA_SUCCESS;
  }
};

}  // namespace nvs::fake
