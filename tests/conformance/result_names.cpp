// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/run.h"

namespace nvs::conformance {

// Not cuGetErrorName: the transcript must be readable even where that very function is wrong.
std::string result_name(CUresult result) {
  switch (result) {
#define NVS_CUDA_RESULT(name, value) \
  case name:                         \
    return #name;
#include "spec/cuda_results.def"
#undef NVS_CUDA_RESULT
    default:
      break;
  }
  if (result == kMissingSymbol) return "symbol missing";
  return cat("result ", static_cast<long long>(result));
}

}  // namespace nvs::conformance
