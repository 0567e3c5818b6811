// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/workloads.cu as typed functions that queue a launch on a GPU's stream, so
// that no workload fills in launch parameters by hand. Counts are in floats.
#pragma once

#include <cstdint>

#include "workloads/gpu.h"

namespace nvs::workloads {

class Kernels {
 public:
  // Loads the embedded PTX into the current context.
  explicit Kernels(const Gpu& gpu);
  ~Kernels();
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  const Gpu& gpu() const { return gpu_; }

  void fill(CUdeviceptr dst, float value, std::uint64_t n) const;
  void step(CUdeviceptr dst, float value, std::uint64_t n) const;
  void add3(CUdeviceptr dst, CUdeviceptr a, CUdeviceptr b, std::uint64_t n) const;
  void check(CUdeviceptr src, float initial, float expected, std::uint64_t n,
             CUdeviceptr mismatches) const;
  void matmul(CUdeviceptr c, CUdeviceptr a, CUdeviceptr b, std::uint32_t n) const;
  void infer(CUdeviceptr weights, CUdeviceptr state, std::uint64_t n_weights,
             std::uint64_t n_state) const;

 private:
  CUfunction find(const char* name) const;
  void launch_linear(CUfunction function, std::uint64_t n, void** parameters) const;

  const Gpu& gpu_;
  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr;
  CUfunction step_ = nullptr;
  CUfunction add3_ = nullptr;
  CUfunction check_ = nullptr;
  CUfunction matmul_ = nullptr;
  CUfunction infer_ = nullptr;
};

}  // namespace nvs::workloads
