// SPDX-License-Identifier: Apache-2.0
// Finds out what a demonstration can run on: the GPUs of this machine if there are any, else
// simulated ones, and what they are like.
#pragma once

#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "cuda_api/driver.h"

namespace nvs::workloads {

enum class GpuChoice { kWhatIsThere, kRealOnly, kSimulatedOnly };

struct Platform {
  Driver driver;
  // What a tenant needs to find the same driver; empty for the usual one.
  std::string driver_path;
  std::string gpu_name;
  int gpus = 0;
  std::uint64_t memory_bytes = 0;  // of the smallest GPU, nominal

  bool simulated() const { return driver.is_simulator(); }
};

// Empty and zero: what the environment says, else two T4s.
struct SimulatorSettings {
  std::string library;  // the simulated libcuda.so.1
  std::string preset;
  int gpus = 0;
};

// Completes NVSHARE_SIM_* in this process's environment where the simulator is used, so that
// tenants started later join the same simulated machine. The error is for a person.
tl::expected<Platform, std::string> find_platform(GpuChoice choice,
                                                  const SimulatorSettings& simulator);

}  // namespace nvs::workloads
