// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernels.h"

#include <algorithm>
#include <array>

#include "workloads/kernels/ptx.h"

namespace nvs::workloads {
namespace {

constexpr unsigned kBlockThreads = 256;
// More blocks than a GPU holds at once keep it busy to the end; beyond that, threads loop.
constexpr unsigned kBlocksPerMultiprocessor = 64;
constexpr unsigned kMatmulTile = 32;
constexpr unsigned kMatmulBlockRows = 8;
constexpr unsigned kGridMax = 65535;

}  // namespace

Kernels::Kernels(const Gpu& gpu) : gpu_(gpu) {
  NVS_CU(gpu_, cuModuleLoadData, &module_, kernels::ptx());
  fill_ = find("nvs_fill");
  step_ = find("nvs_step");
  add3_ = find("nvs_add3");
  check_ = find("nvs_check");
  matmul_ = find("nvs_matmul");
  infer_ = find("nvs_infer");
}

Kernels::~Kernels() { gpu_.driver().cuModuleUnload(module_); }

CUfunction Kernels::find(const char* name) const {
  CUfunction function = nullptr;
  NVS_CU(gpu_, cuModuleGetFunction, &function, module_, name);
  return function;
}

void Kernels::launch_linear(CUfunction function, std::uint64_t n, void** parameters) const {
  const std::uint64_t blocks_max =
      static_cast<std::uint64_t>(gpu_.multiprocessors()) * kBlocksPerMultiprocessor;
  const std::uint64_t wanted = (n + kBlockThreads - 1) / kBlockThreads;
  const auto blocks = static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, blocks_max));
  NVS_CU(gpu_, cuLaunchKernel, function, blocks, 1u, 1u, kBlockThreads, 1u, 1u, 0u, gpu_.stream(),
         parameters, static_cast<void**>(nullptr));
}

void Kernels::fill(CUdeviceptr dst, float value, std::uint64_t n) const {
  std::array<void*, 3> parameters = {&dst, &value, &n};
  launch_linear(fill_, n, parameters.data());
}

void Kernels::step(CUdeviceptr dst, float value, std::uint64_t n) const {
  std::array<void*, 3> parameters = {&dst, &value, &n};
  launch_linear(step_, n, parameters.data());
}

void Kernels::add3(CUdeviceptr dst, CUdeviceptr a, CUdeviceptr b, std::uint64_t n) const {
  std::array<void*, 4> parameters = {&dst, &a, &b, &n};
  launch_linear(add3_, n, parameters.data());
}

void Kernels::check(CUdeviceptr src, float initial, float expected, std::uint64_t n,
                    CUdeviceptr mismatches) const {
  std::array<void*, 5> parameters = {&src, &initial, &expected, &n, &mismatches};
  launch_linear(check_, n, parameters.data());
}

void Kernels::matmul(CUdeviceptr c, CUdeviceptr a, CUdeviceptr b, std::uint32_t n) const {
  std::array<void*, 4> parameters = {&c, &a, &b, &n};
  const unsigned tiles = std::min((n + kMatmulTile - 1) / kMatmulTile, kGridMax);
  NVS_CU(gpu_, cuLaunchKernel, matmul_, tiles, tiles, 1u, kMatmulTile, kMatmulBlockRows, 1u, 0u,
         gpu_.stream(), parameters.data(), static_cast<void**>(nullptr));
}

void Kernels::infer(CUdeviceptr weights, CUdeviceptr state, std::uint64_t n_weights,
                    std::uint64_t n_state) const {
  std::array<void*, 4> parameters = {&weights, &state, &n_weights, &n_state};
  launch_linear(infer_, n_weights, parameters.data());
}

}  // namespace nvs::workloads
