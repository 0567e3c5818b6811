// SPDX-License-Identifier: Apache-2.0
// Lets a program use the CUDA driver without linking to it: the library is opened at run time, so
// one binary runs on a GPU, on the simulator, and says so in words where there is neither.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "cuda_api/cuda.h"
#include "cuda_sim/test_api.h"

namespace nvs {

class Driver {
 public:
  // What finds a symbol in a library, as dlsym does.
  using Find = void* (*)(void* library, const char* name);

  // Opens `path`; if that is null, what $NVSHARE_CUDA_LIBRARY names, else libcuda.so.1. If `find`
  // is null the symbols are looked up with dlsym, whoever interposes it.
  static tl::expected<Driver, std::string> load(const char* path = nullptr, Find find = nullptr);

  // Any symbol of the library, for entry points without a member; null where there is none.
  void* symbol(const char* name) const;

  bool is_simulator() const { return sim_.has_value(); }
  // The simulator's test API; null on a real driver.
  const CusimApi* sim() const { return sim_ ? &*sim_ : nullptr; }

  // One member per typed entry point. It is null where this driver does not have the function.
#define NVS_CUDA_FUNCTION(name, ...) decltype(&::name) name = nullptr;
#define NVS_CUDA_VARIANT(name, base) decltype(&::name) name = nullptr;
#include "spec/cuda_functions.def"
#undef NVS_CUDA_FUNCTION
#undef NVS_CUDA_VARIANT

 private:
  struct CloseLibrary {
    void operator()(void* library) const;
  };

  Driver(void* library, Find find);

  std::unique_ptr<void, CloseLibrary> library_;
  std::optional<CusimApi> sim_;
};

}  // namespace nvs
