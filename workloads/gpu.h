// SPDX-License-Identifier: Apache-2.0
// One GPU, opened the way a normal program does it: the primary context, one stream, memory with an
// owner. It hides whether the GPU is real or simulated, but for the scale of its memory.
#pragma once

#include <cstdint>
#include <string>

#include "cuda_api/driver.h"
#include "workloads/cuda_error.h"

namespace nvs::workloads {

enum class MemoryKind {
  kDevice,
  kManaged,  // Unified Memory: the driver carries pages to whoever touches them
};

struct GpuOptions {
  std::string driver_path{};  // empty for the usual one
  int device = 0;
  unsigned scale = 0;                       // zero: ask the simulator; one on a real GPU
  MemoryKind memory = MemoryKind::kDevice;  // of all large arrays
};

class Gpu {
 public:
  // Throws CudaError, or std::runtime_error where there is no driver at all.
  explicit Gpu(const GpuOptions& options);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return driver_; }
  bool simulated() const { return driver_.is_simulator(); }
  // How many times smaller than nominal all sizes have to be.
  unsigned scale() const { return scale_; }
  // How many times longer than on the card everything takes: one, but on a simulator told
  // otherwise.
  double time_factor() const { return time_factor_; }
  const std::string& name() const { return name_; }
  // "GPU-…", as nvidia-smi writes it: in a container every GPU is number 0.
  const std::string& uuid() const { return uuid_; }
  int multiprocessors() const { return multiprocessors_; }
  MemoryKind memory_kind() const { return memory_kind_; }
  CUstream stream() const { return stream_; }

  // Waits for all work queued on the stream.
  void synchronize() const;

  // Calls a driver function by its name and address, throws if it fails; see NVS_CU.
  template <class... Parameters, class... Arguments>
  void call(const char* name, CUresult (*function)(Parameters...), Arguments... arguments) const {
    const CUresult result = function == nullptr ? CUDA_ERROR_NOT_FOUND : function(arguments...);
    if (result != CUDA_SUCCESS) throw CudaError(driver_, name, result);
  }

 private:
  Driver driver_;
  unsigned scale_ = 1;
  double time_factor_ = 1;
  MemoryKind memory_kind_;
  CUdevice device_ = 0;
  CUstream stream_ = nullptr;
  std::string name_;
  std::string uuid_;
  int multiprocessors_ = 0;
};

// Memory of the kind that its Gpu was opened with, with an owner. It must not outlive its Gpu.
class DeviceMemory {
 public:
  DeviceMemory(const Gpu& gpu, std::uint64_t bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  CUdeviceptr address() const { return address_; }

 private:
  const Gpu& gpu_;
  CUdeviceptr address_ = 0;
};

// Pinned host memory with an owner, for results that are read back all the time.
class PinnedMemory {
 public:
  PinnedMemory(const Gpu& gpu, std::uint64_t bytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  void* address() const { return address_; }

 private:
  const Gpu& gpu_;
  void* address_ = nullptr;
};

}  // namespace nvs::workloads

// NVS_CU(gpu, cuMemAlloc_v2, &address, bytes): the call, and an exception that names it if it
// fails.
#define NVS_CU(gpu, function, ...) \
  (gpu).call(#function, (gpu).driver().function __VA_OPT__(, ) __VA_ARGS__)
