// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/test_library.h"

#include <cstdlib>

#include <dlfcn.h>
#include <unistd.h>

namespace nvs::nvml {
namespace {

void set(const char* variable, const std::string& value) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): tests change the environment while they have one thread
  ::setenv(variable, value.c_str(), 1);
}

}  // namespace

Nvml::Nvml(const char* path) : library(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
  EXPECT_NE(library, nullptr) << path;
  if (library == nullptr) return;
#define NVS_NVML_FUNCTION(type, symbol, ...) \
  symbol = reinterpret_cast<decltype(symbol)>(::dlsym(library, #symbol));
#include "spec/nvml_functions.def"
#undef NVS_NVML_FUNCTION
}

NvmlTest::NvmlTest() {
  static unsigned count = 0;
  machine_ = "nvml-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
  set("NVSHARE_SIM_MACHINE", machine_);
  set("NVSHARE_SIM_PRESET", "h200");
  set("NVSHARE_SIM_GPUS", "1");
  set("NVSHARE_SIM_SCALE", "64");
}

NvmlTest::~NvmlTest() {
  while (nvml.nvmlShutdown() == NVML_SUCCESS) {
  }
  EXPECT_NE(::access(segment_path().c_str(), F_OK), 0) << "the machine outlives its last process";
}

void NvmlTest::start(const char* preset, unsigned gpus) {
  set("NVSHARE_SIM_PRESET", preset);
  set("NVSHARE_SIM_GPUS", std::to_string(gpus));
  ASSERT_EQ(nvml.nvmlInit_v2(), NVML_SUCCESS);
}

nvmlDevice_t NvmlTest::device(unsigned index) {
  nvmlDevice_t handle = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByIndex_v2(index, &handle), NVML_SUCCESS);
  return handle;
}

std::string NvmlTest::segment_path() const {
  return "/dev/shm/nvshare-sim-" + std::to_string(::getuid()) + "-" + machine_;
}

}  // namespace nvs::nvml
