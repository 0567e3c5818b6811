// SPDX-License-Identifier: Apache-2.0
#include "bench/load.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bench/child.h"

namespace nvs::bench {
namespace {

// Sizes stay multiples of what the kernels (and the simulator's stripes) work in.
constexpr std::uint64_t kAddStep = 16384;
constexpr std::uint64_t kMatmulStep = 32;
constexpr std::uint64_t kFirstElements = std::uint64_t{256} << 20;  // nominal
constexpr std::uint64_t kFirstRows = 4096;                          // nominal
constexpr int kCalibrationKernels = 8;
constexpr int kCalibrationRounds = 3;
// Sums of ones in floats are exact to here and no kernel is slower for it; the value does not
// matter otherwise.
constexpr float kInitial = 1;

std::uint64_t round_to(double value, std::uint64_t step) {
  const double steps = std::max(1.0, std::round(value / static_cast<double>(step)));
  return static_cast<std::uint64_t>(steps) * step;
}

std::uint64_t first_size(const Machine& machine, Work work) {
  if (work == Work::kAdd)
    return round_to(static_cast<double>(machine.scaled(kFirstElements)), kAddStep);
  // The scale shrinks bytes, so rows shrink by its root.
  return round_to(std::sqrt(static_cast<double>(machine.scaled(kFirstRows * kFirstRows))),
                  kMatmulStep);
}

// Time is linear in the elements of a sum and cubic in the rows of a product.
std::uint64_t size_for(const Load& load, double kernel_s) {
  const double ratio = kernel_s / load.kernel_s;
  const auto size = static_cast<double>(load.size);
  return load.work == Work::kAdd ? round_to(size * ratio, kAddStep)
                                 : round_to(size * std::cbrt(ratio), kMatmulStep);
}

double kernel_seconds(const Gpu& gpu, const Load& load) {
  const LoadedKernel kernel(gpu, load);
  kernel.launch();
  gpu.synchronize();
  const std::int64_t start = now_ns();
  for (int i = 0; i < kCalibrationKernels; ++i) kernel.launch();
  gpu.synchronize();
  const double wall_s = static_cast<double>(now_ns() - start) * 1e-9;
  return gpu.machine().nominal_seconds(wall_s / kCalibrationKernels);
}

}  // namespace

nlohmann::json Load::to_json() const {
  return {{"work", static_cast<int>(work)}, {"size", size}, {"kernel_s", kernel_s}};
}

Load Load::from_json(const nlohmann::json& object) {
  return {static_cast<Work>(object.at("work").get<int>()), object.at("size").get<std::uint64_t>(),
          object.at("kernel_s").get<double>()};
}

Load calibrate(const Gpu& gpu, Work work, double kernel_s) {
  Load load{work, first_size(gpu.machine(), work), 0};
  load.kernel_s = kernel_seconds(gpu, load);
  for (int round = 1; round < kCalibrationRounds; ++round) {
    load.size = size_for(load, kernel_s);
    load.kernel_s = kernel_seconds(gpu, load);
  }
  return load;
}

LoadedKernel::LoadedKernel(const Gpu& gpu, const Load& load)
    : gpu_(gpu), load_(load), stream_(gpu) {
  const bool add = load.work == Work::kAdd;
  const std::size_t buffers = add ? 2 : 3;
  const std::uint64_t count = add ? load.size : load.size * load.size;
  for (std::size_t i = 0; i < buffers; ++i) {
    data_.push_back(std::make_unique<DeviceBuffer>(gpu, count * sizeof(float)));
    gpu.fill(stream_.get(), data_.back()->address(), kInitial, count);
  }
  stream_.synchronize();
}

void LoadedKernel::launch() const {
  if (load_.work == Work::kAdd) {
    gpu_.add(stream_.get(), data_[0]->address(), data_[1]->address(), load_.size);
  } else {
    gpu_.matmul(stream_.get(), data_[0]->address(), data_[1]->address(), data_[2]->address(),
                static_cast<std::uint32_t>(load_.size));
  }
}

}  // namespace nvs::bench
