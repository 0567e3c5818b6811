// SPDX-License-Identifier: Apache-2.0
// What a process needs to put a GPU to work: the primary context, the repository's kernels, and
// owners for memory, streams and events. All calls go through nvs::Driver, so the same code
// measures a GPU and the simulator, with nvshare's library in between or without.
#pragma once

#include <cstdint>
#include <utility>

#include "bench/machine.h"

namespace nvs::bench {

class Gpu {
 public:
  // Makes the primary context of the device current on this thread, and loads the kernels.
  explicit Gpu(const Machine& machine, int ordinal = 0);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Machine& machine() const { return machine_; }
  const Driver& driver() const { return machine_.driver(); }
  CUdevice device() const { return device_; }
  std::uint64_t free_bytes() const;
  void synchronize() const;

  // The kernels; sizes are in elements as the driver sees them (see Machine::scaled).
  void fill(CUstream stream, CUdeviceptr data, float value, std::uint64_t count) const;
  void add(CUstream stream, CUdeviceptr sum, CUdeviceptr term, std::uint64_t count) const;
  void matmul(CUstream stream, CUdeviceptr product, CUdeviceptr left, CUdeviceptr right,
              std::uint32_t rows) const;
  // The smallest kernel there is: kTinyCount elements in one block.
  void tiny(CUstream stream, CUdeviceptr data) const;
  static constexpr std::uint64_t kTinyCount = 64;

 private:
  CUfunction function(const char* name) const;
  void launch(CUfunction kernel, unsigned blocks, CUstream stream, void** arguments) const;

  const Machine& machine_;
  CUdevice device_ = 0;
  CUmodule module_ = nullptr;
  unsigned blocks_ = 1;  // enough to fill the GPU
  CUfunction fill_ = nullptr;
  CUfunction step_ = nullptr;
  CUfunction add_ = nullptr;
  CUfunction matmul_ = nullptr;
};

// Memory of the device or page-locked memory of the host, and the events and streams below: freed
// with their owner, which must not outlive its Gpu.
class DeviceBuffer {
 public:
  DeviceBuffer(const Gpu& gpu, std::uint64_t bytes);
  ~DeviceBuffer() { gpu_.driver().cuMemFree_v2(address_); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  CUdeviceptr address() const { return address_; }

 private:
  const Gpu& gpu_;
  CUdeviceptr address_ = 0;
};

class HostBuffer {
 public:
  HostBuffer(const Gpu& gpu, std::uint64_t bytes);
  ~HostBuffer() { gpu_.driver().cuMemFreeHost(data_); }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  char* data() const { return static_cast<char*>(data_); }

 private:
  const Gpu& gpu_;
  void* data_ = nullptr;
};

class Stream {
 public:
  explicit Stream(const Gpu& gpu);
  ~Stream() { gpu_.driver().cuStreamDestroy_v2(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }
  void synchronize() const;

 private:
  const Gpu& gpu_;
  CUstream stream_ = nullptr;
};

class Event {
 public:
  enum class Kind { kPlain, kTiming };
  explicit Event(const Gpu& gpu, Kind kind = Kind::kPlain);
  Event(Event&& other) noexcept : gpu_(other.gpu_), event_(std::exchange(other.event_, nullptr)) {}
  ~Event() {
    if (event_ != nullptr) gpu_.driver().cuEventDestroy_v2(event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event& operator=(Event&&) = delete;
  CUevent get() const { return event_; }
  void record(CUstream stream) const;
  void synchronize() const;

 private:
  const Gpu& gpu_;
  CUevent event_ = nullptr;
};

}  // namespace nvs::bench
