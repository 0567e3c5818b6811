// SPDX-License-Identifier: Apache-2.0
#include "workloads/platform.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace nvs::workloads {
namespace {

std::string name_of(const Driver& driver, CUresult result) {
  const char* name = nullptr;
  if (driver.cuGetErrorName != nullptr) driver.cuGetErrorName(result, &name);
  return name != nullptr ? name : fmt::format("error {}", static_cast<int>(result));
}

tl::expected<Platform, std::string> open_platform(const std::string& path) {
  auto driver = Driver::load(path.empty() ? nullptr : path.c_str());
  if (!driver) return tl::unexpected(driver.error());
  Platform platform{.driver = *std::move(driver),
                    .driver_path = path,
                    .gpu_name = "",
                    .gpus = 0,
                    .memory_bytes = std::numeric_limits<std::uint64_t>::max()};
  const Driver& d = platform.driver;
  CUresult result = d.cuInit(0);
  if (result == CUDA_SUCCESS) result = d.cuDeviceGetCount(&platform.gpus);
  if (result == CUDA_SUCCESS && platform.gpus == 0) result = CUDA_ERROR_NO_DEVICE;
  const unsigned scale = d.is_simulator() && result == CUDA_SUCCESS ? d.sim()->cusimScale() : 1;
  for (int gpu = 0; gpu < platform.gpus && result == CUDA_SUCCESS; ++gpu) {
    CUdevice device = 0;
    std::size_t bytes = 0;
    std::array<char, 128> name{};
    result = d.cuDeviceGet(&device, gpu);
    if (result == CUDA_SUCCESS) result = d.cuDeviceTotalMem_v2(&bytes, device);
    if (result == CUDA_SUCCESS) {
      result = d.cuDeviceGetName(name.data(), static_cast<int>(name.size()), device);
    }
    platform.memory_bytes = std::min<std::uint64_t>(platform.memory_bytes, bytes * scale);
    platform.gpu_name = name.data();
  }
  if (result != CUDA_SUCCESS) return tl::unexpected(name_of(d, result));
  return platform;
}

void set_variable(const char* name, const std::string& wanted, const std::string& fallback) {
  const bool asked_for = !wanted.empty();
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has been started yet.
  ::setenv(name, (asked_for ? wanted : fallback).c_str(), asked_for ? 1 : 0);
}

tl::expected<Platform, std::string> open_simulator(const SimulatorSettings& simulator) {
  const std::string gpus = simulator.gpus == 0 ? "" : std::to_string(simulator.gpus);
  set_variable("NVSHARE_SIM_MACHINE", "", fmt::format("demo-{}", ::getpid()));
  set_variable("NVSHARE_SIM_PRESET", simulator.preset, "t4");
  set_variable("NVSHARE_SIM_GPUS", gpus, "2");
  return open_platform(simulator.library);
}

}  // namespace

tl::expected<Platform, std::string> find_platform(GpuChoice choice,
                                                  const SimulatorSettings& simulator) {
  std::string problems;
  if (choice != GpuChoice::kSimulatedOnly) {
    auto platform = open_platform("");
    if (platform) return platform;
    problems = fmt::format("no GPU can be used: {}", platform.error());
  }
  if (choice != GpuChoice::kRealOnly) {
    auto platform = open_simulator(simulator);
    if (platform) return platform;
    problems += fmt::format("{}the simulator cannot be used: {}", problems.empty() ? "" : "; ",
                            platform.error());
  }
  return tl::unexpected(problems);
}

}  // namespace nvs::workloads
