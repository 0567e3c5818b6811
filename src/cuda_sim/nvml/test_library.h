// SPDX-License-Identifier: Apache-2.0
// What the tests of the simulated NVML share: the built library as programs find it, by dlopen, and
// a machine of its own for each test.
#pragma once

#include <chrono>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "cuda_api/nvml.h"

namespace nvs::nvml {

/// One member for each function that is declared; null where the library does not export it.
struct Nvml {
#define NVS_NVML_FUNCTION(type, symbol, ...) decltype(&::symbol) symbol = nullptr;
#include "spec/nvml_functions.def"
#undef NVS_NVML_FUNCTION
  void* library = nullptr;

  explicit Nvml(const char* path);
};

/// Whether `holds()` comes true within a minute. For what depends on how soon other processes get a
/// processor.
template <class Holds>
bool eventually(Holds holds) {
  for (int i = 0; i < 300; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
  }
  return false;
}

class NvmlTest : public ::testing::Test {
 protected:
  NvmlTest();
  ~NvmlTest() override;

  /// nvmlInit in a machine with so many GPUs of that preset.
  void start(const char* preset = "h200", unsigned gpus = 1);
  nvmlDevice_t device(unsigned index = 0);
  std::string segment_path() const;

  Nvml nvml{NVS_NVML_LIBRARY};

 private:
  std::string machine_;
};

}  // namespace nvs::nvml
