// SPDX-License-Identifier: Apache-2.0
// The work that saturates a GPU: a kernel and its size. It is described once, measured by the
// parent, sent to tenants, and run there on data of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>

#include "bench/gpu.h"

namespace nvs::bench {

enum class Work { kAdd, kMatmul };

struct Load {
  Work work = Work::kAdd;
  std::uint64_t size = 0;  // as the driver sees it: elements to add, or rows of a matrix
  double kernel_s = 0;     // nominal time of one kernel, alone

  nlohmann::json to_json() const;
  static Load from_json(const nlohmann::json& object);
};

// Finds the size at which one kernel takes `kernel_s` on this GPU while nobody else uses it.
Load calibrate(const Gpu& gpu, Work work, double kernel_s);

// A load with its data in place, ready to be launched.
class LoadedKernel {
 public:
  LoadedKernel(const Gpu& gpu, const Load& load);

  const Load& load() const { return load_; }
  CUstream stream() const { return stream_.get(); }
  void launch() const;

 private:
  const Gpu& gpu_;
  Load load_;
  Stream stream_;
  std::vector<std::unique_ptr<DeviceBuffer>> data_;
};

}  // namespace nvs::bench
