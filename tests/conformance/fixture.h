// SPDX-License-Identifier: Apache-2.0
// What most steps build on: kernels, memory, streams and ways to look at data. Nothing here writes
// a line unless it fails, and nothing is freed: a step's process ends soon.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/conformance/run.h"
#include "workloads/kernels/ptx.h"

namespace nvs::conformance {

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;
inline constexpr std::size_t kGiB = 1024 * kMiB;
inline constexpr std::size_t kTiB = 1024 * kGiB;

using workloads::kernels::ptx;

struct Kernels {
  CUmodule module = nullptr;
  CUfunction fill = nullptr;
  CUfunction step = nullptr;
  CUfunction add = nullptr;
  CUfunction spin = nullptr;
};

Kernels load_kernels(Run& run);
CUdeviceptr allocate(Run& run, std::size_t bytes);
CUstream new_stream(Run& run);
CUevent new_event(Run& run);
CUcontext current_context(Run& run);
CUcontext new_context(Run& run);  // created, and left current
CUmemAllocationProp device_prop();

// Arguments of nvs_fill and nvs_step (destination, value, count), kept alive for a launch or a
// graph node.
struct FillArguments {
  CUdeviceptr destination = 0;
  float value = 0;
  std::uint64_t count = 0;
  void* pointers[3] = {&destination, &value, &count};
  FillArguments(CUdeviceptr d, float v, std::uint64_t n) : destination(d), value(v), count(n) {}
  FillArguments(const FillArguments&) = delete;
  FillArguments& operator=(const FillArguments&) = delete;
};

CUresult launch_fill(Run& run, CUfunction function, CUdeviceptr destination, float value,
                     std::uint64_t count, CUstream stream);
CUresult launch_spin(Run& run, CUfunction spin, std::uint64_t nanoseconds, CUstream stream);

// A host function that a stream stands before until it is let go: what is queued behind it is in
// flight, however busy the machine is. One at a time.
void hold(Run& run, CUstream stream);
void let_go();

// Copies out of device memory after everything in the context has ended.
std::vector<std::uint8_t> read_bytes(Run& run, CUdeviceptr source, std::size_t bytes);
float read_float(Run& run, CUdeviceptr source, std::size_t index);
bool all_bytes(Run& run, CUdeviceptr source, std::size_t bytes, std::uint8_t value);

// An address as the transcript may show it: null, or its distance from a base.
std::string relative(CUdeviceptr address, CUdeviceptr base);

inline CUdeviceptr address_of(const void* pointer) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(pointer));
}
inline void* pointer_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

}  // namespace nvs::conformance
