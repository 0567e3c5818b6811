// SPDX-License-Identifier: Apache-2.0
// A process's view of the simulated driver, as short as tests want it: the driver loaded, a context
// current, the workloads' kernels at hand. For use in the processes of a test, not in the test.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_api/driver.h"

namespace nvs::sim_test {

/// Loads the library under test, once for each process. It stays loaded.
const Driver& loaded_driver();
/// The same after cuInit, which must succeed.
const Driver& initialised_driver();

class CallFailed : public std::runtime_error {
 public:
  CallFailed(CUresult result, const char* call);
  CUresult result() const { return result_; }

 private:
  CUresult result_;
};

/// Throws unless the call succeeded: what follows would make no sense.
void must(CUresult result, const char* call);
#define NVS_MUST(call) ::nvs::sim_test::must((call), #call)

std::string violation_text(const Driver& driver);

/// A property of VMM memory on a device.
CUmemAllocationProp vmm_prop(int device, CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_NONE);

class Gpu {
 public:
  /// Makes a context on the device, current, with the kernels loaded.
  explicit Gpu(int device = 0);
  /// In the context that is current, which is of that device.
  Gpu(int device, CUcontext current);

  const Driver* operator->() const { return &driver_; }
  const CusimApi& sim() const { return *driver_.sim(); }
  int device() const { return device_; }
  CUcontext context() const { return context_; }
  void make_current() const { NVS_MUST(driver_.cuCtxSetCurrent(context_)); }

  CUdeviceptr alloc(std::size_t bytes) const;
  /// Memory of this size filled with a value; done when this returns.
  CUdeviceptr filled(std::size_t floats, float value) const;
  std::vector<float> read(CUdeviceptr from, std::size_t floats) const;
  std::size_t free_bytes() const;
  std::size_t granularity() const;
  unsigned long long busy_ns() const;
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING) const;
  CUevent event() const;

  /// One chunk of VMM memory, mapped and accessible.
  struct Chunk {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    CUmemGenericAllocationHandle handle = 0;
  };
  Chunk map_chunk(std::size_t bytes,
                  CUmemAllocationHandleType type = CU_MEM_HANDLE_TYPE_NONE) const;
  /// Maps memory that is there already, say imported.
  CUdeviceptr map_handle(CUmemGenericAllocationHandle handle, std::size_t bytes) const;
  void unmap_chunk(const Chunk& chunk) const;

  template <class... Arguments>
  CUresult launch(const char* kernel, CUstream stream, Arguments... arguments) const {
    std::array<void*, sizeof...(Arguments)> parameters{&arguments...};
    return launch_with(kernel, stream, parameters.data());
  }
  CUresult fill(CUdeviceptr to, float value, std::uint64_t n, CUstream stream = nullptr) const {
    return launch("nvs_fill", stream, to, value, n);
  }
  CUresult step(CUdeviceptr to, float value, std::uint64_t n, CUstream stream = nullptr) const {
    return launch("nvs_step", stream, to, value, n);
  }
  CUresult spin(std::uint64_t ns, CUstream stream = nullptr) const {
    return launch("nvs_spin", stream, ns);
  }
  CUfunction function(const char* kernel) const;
  /// Makes the kernel that is launched next hang, and waits until it runs.
  template <class Launch>
  void launch_hanging(Launch&& launch) const {
    sim().cusimHangNextKernel();
    const unsigned long long before = busy_ns();
    NVS_MUST(launch());
    wait_until_busy(before);
  }

 private:
  CUresult launch_with(const char* kernel, CUstream stream, void** parameters) const;
  void wait_until_busy(unsigned long long before) const;

  const Driver& driver_;
  int device_;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
};

}  // namespace nvs::sim_test
